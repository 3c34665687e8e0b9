//! A machine as text that a reviewer reads: one line for each field and each CPU.

use std::fmt::Write as _;

use tenbin_model::machine::{Cache, CpuPlace, Machine, Observed, Witness, cpu_ranges};

/// Takes the machine apart without `..`, so that a new field does not compile until it is written.
pub(super) fn machine(machine: &Machine) -> String {
    let Machine {
        architecture,
        cpu_model,
        microcode,
        cpus,
        online,
        nodes,
        kernel,
        command_line,
        clock_source,
        clock,
        governor,
        turbo,
        smt,
        transparent_huge_pages,
        numa_balancing,
        address_randomisation,
        mitigations,
        virtualisation,
        wsl,
        cpu_quota,
        memory,
        memory_available,
        memory_limit,
        page_size,
        huge_page_sizes,
        load,
        counters,
    } = machine;
    let mut text = String::new();
    let mut line = |name: &str, value: String| writeln!(text, "{name}: {value}").unwrap();
    line("architecture", architecture.clone());
    line("CPU model", cpu_model.to_string());
    line("microcode", microcode.to_string());
    line("online", shown(online, |cpus| cpu_ranges(cpus)));
    line("kernel", kernel.to_string());
    line("command line", command_line.to_string());
    line("clock source", clock_source.to_string());
    line("clock", shown(clock, |clock| clock.name.clone()));
    line("governor", governor.to_string());
    line("turbo", turbo.to_string());
    line("SMT", smt.to_string());
    line("transparent huge pages", transparent_huge_pages.to_string());
    line("NUMA balancing", numa_balancing.to_string());
    line("address randomisation", address_randomisation.to_string());
    line("virtualisation", virtualisation.to_string());
    line("WSL", wsl.to_string());
    line("CPU quota", shown(cpu_quota, |quota| optional(quota.as_ref())));
    line("memory", memory.to_string());
    line("memory available", memory_available.to_string());
    line("memory limit", shown(memory_limit, |limit| optional(limit.as_ref())));
    line("page size", page_size.to_string());
    line(
        "huge page sizes",
        shown(huge_page_sizes, |sizes| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    );
    line("load", load.to_string());
    line("counters", counters.to_string());
    match mitigations {
        Observed::Known(flaws) => {
            for (flaw, words) in flaws {
                line(&format!("mitigation {flaw}"), words.clone());
            }
        }
        unknown => line("mitigations", shown(unknown, |_| String::new())),
    }
    match nodes {
        Observed::Known(nodes) if nodes.is_empty() => line("nodes", "none named".into()),
        Observed::Known(nodes) => {
            for node in nodes {
                let words = format!("CPUs {}, distances {:?}", cpu_ranges(&node.cpus), node.distances);
                line(&format!("node {}", node.node), words);
            }
        }
        unknown => line("nodes", shown(unknown, |_| String::new())),
    }
    for cpu in cpus {
        line(&cpu.cpu.to_string(), place(cpu));
    }
    text
}

fn shown<T>(value: &Observed<T>, known: impl Fn(&T) -> String) -> String {
    match value {
        Observed::Known(value) => known(value),
        Observed::NotObservable(why) => format!("not observable ({why})"),
    }
}

fn optional<T: ToString>(limit: Option<&T>) -> String {
    limit.map_or_else(|| "none".to_owned(), T::to_string)
}

fn place(place: &CpuPlace) -> String {
    let CpuPlace { cpu: _, package, core, siblings, node, kind, caches } = place;
    let siblings = shown(siblings, |cpus| cpu_ranges(cpus));
    let caches = shown(caches, |caches| caches.iter().map(cache).collect::<Vec<_>>().join("; "));
    format!("package {package}, core {core}, siblings {siblings}, node {node}, {kind}; {caches}")
}

fn cache(cache: &Cache) -> String {
    let Cache { level, kind, size, line, shared_by, witness } = cache;
    let sharers = if shared_by.is_empty() { "unknown CPUs".to_owned() } else { cpu_ranges(shared_by) };
    let witness = match witness {
        Witness::Sysfs => String::new(),
        other => format!(", by {other}"),
    };
    format!("L{level} {kind} {size}, line {line}, for {sharers}{witness}")
}
