//! Benchmarks of tenbin itself, by name.

use crate::architecture::Architecture;
use crate::failure::Failure;
use crate::workspace::{Profile, Workspace};

/// A command line of tenbin, and what its answer or its time tells.
struct Benchmark {
    name: &'static str,
    what: &'static str,
    arguments: &'static [&'static str],
}

/// All of them. Adding one is a line.
const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "overhead",
        what: "what the engine itself costs",
        arguments: &["run", "null", "--thorough"],
    },
    Benchmark { name: "survey", what: "how long the default command takes", arguments: &[] },
];

/// Run the benchmark called `name`, or all of them, on the release binary.
pub(crate) fn run(workspace: &Workspace, name: Option<&str>) -> Result<(), Failure> {
    let chosen = choose(name)?;
    let host = Architecture::host()?;
    let binary = workspace.build(host, Profile::Release)?;
    let store = workspace.scratch("bench")?.join("store.db");
    for benchmark in chosen {
        println!("\n{}: {}", benchmark.name, benchmark.what);
        let command = host.command(&binary).arguments(benchmark.arguments.iter().copied());
        let output = command.variable("TENBIN_STORE", &store).capture()?;
        print!("{}{}", output.text, output.diagnostics);
        let status = crate::command::status_in_words(output.code);
        println!("{}: {:.2} s, {status}", benchmark.name, output.time.as_secs_f64());
        if output.code != Some(0) {
            return Err(Failure::new(
                format!("run the benchmark {}", benchmark.name),
                status,
                "read what it printed",
            ));
        }
    }
    Ok(())
}

fn choose(name: Option<&str>) -> Result<Vec<&'static Benchmark>, Failure> {
    let chosen = BENCHMARKS.iter().filter(|benchmark| name.is_none_or(|name| name == benchmark.name));
    let chosen = chosen.collect::<Vec<_>>();
    if chosen.is_empty() {
        let known = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>().join(", ");
        let tried = format!("find the benchmark {}", name.unwrap_or_default());
        return Err(Failure::new(tried, "there is no such name", format!("use one of {known}")));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_chooses_one_none_chooses_all_and_an_unknown_one_fails() {
        assert_eq!(choose(Some("survey")).expect("it exists").len(), 1);
        assert_eq!(choose(None).expect("all exist").len(), BENCHMARKS.len());
        assert!(choose(Some("speed")).is_err());
    }
}
