//! A machine as text.

use tenbin_document::Document;
use tenbin_model::machine::Machine;

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

#[cfg(test)]
mod tests {
    use tenbin_model::machine::Observed;

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
