//! A machine as text.

use tenbin_document::words::comma;
use tenbin_document::{Document, card};
use tenbin_model::machine::{Cache, Machine, Observed};
use tenbin_model::topology::data_caches;

use crate::{comparable, topology};

/// Its shape in sentences, then everything else that can change what is measured on it.
pub fn machine(machine: &Machine) -> Document {
    let mut document = Document::new();
    for sentence in topology::sentences(machine) {
        document.paragraph(0, sentence);
    }
    document.space();
    for (name, value) in comparable::fields(machine) {
        document.paragraph(2, format!("{name}: {value}"));
    }
    document
}

/// The machine in a few lines, as a drawing in SVG.
pub fn machine_card(machine: &Machine) -> String {
    const SHOWN: [&str; 7] =
        ["instruction set", "CPUs usable", "memory", "virtualisation", "kernel", "clock source", "governor"];
    let title = machine.cpu_model.known().map_or("A processor of unknown model", String::as_str);
    let mut rows = chosen(machine, &SHOWN);
    if let Some(place) = machine.cpus.first() {
        let size = |cache: &&Cache| Some(format!("L{} {}", cache.level, cache.size.known()?));
        let caches = comma(data_caches(machine, place.cpu).iter().filter_map(size));
        rows.push(("caches".into(), format!("{caches} (CPU {}, the firmware's word)", place.cpu.0)));
    }
    card(title, &rows)
}

/// Those fields of a machine that are named here and known, in their usual order.
pub(super) fn chosen(machine: &Machine, names: &[&str]) -> Vec<(String, String)> {
    let fields = comparable::fields(machine).into_iter().filter(|(name, _)| names.contains(&name.as_str()));
    let known = |(name, value): (String, Observed<String>)| {
        let value = if name == "kernel" { machine.kernel_release() } else { value.known().cloned() };
        Some((name, value?))
    };
    fields.filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_and_what_is_not_have_a_line_each() {
        let mut seen = Machine::unobserved("a test");
        seen.kernel = Observed::Known("Linux 6.1".into());
        seen.mitigations = Observed::Known(vec![("l1tf".into(), "Not affected".into())]);
        let text = machine(&seen).text(100);
        for line in [
            "No CPU is known.\n\n",
            "\n  kernel: Linux 6.1\n",
            "\n  mitigations (l1tf): Not affected\n",
            "\n  governor: not observable (a test)\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
