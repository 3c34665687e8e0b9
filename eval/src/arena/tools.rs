//! The tools that are weighed.

use super::tool::Tool;
use super::{criterion, google_benchmark, hyperfine, nanobench, pyperf, tango, tenbin, zenbench};
use tenbin_model::words::comma;
use xtask::failure::Failure;

/// All of them, in the order of the table. Adding one is a file and a line.
const TOOLS: &[&Tool] = &[
    &tenbin::TOOL,
    &hyperfine::TOOL,
    &google_benchmark::WALL,
    &google_benchmark::PROCESSOR,
    &criterion::DEFAULT,
    &criterion::NO_THRESHOLD,
    &pyperf::TOOL,
    &nanobench::TOOL,
    &tango::DEFAULT,
    &tango::NO_THRESHOLD,
    &zenbench::DEFAULT,
    &zenbench::NO_THRESHOLD,
];

/// The tools called `names`, or all of them, in the order of the list.
pub(super) fn choose(names: &[String]) -> Result<Vec<&'static Tool>, Failure> {
    if let Some(name) = names.iter().find(|name| !TOOLS.iter().any(|tool| tool.name == **name)) {
        let known = comma(TOOLS.iter().map(|tool| tool.name));
        let tried = format!("find the tool {name}");
        return Err(Failure::new(tried, "there is no such name", format!("use some of {known}")));
    }
    let chosen = |tool: &&&Tool| names.is_empty() || names.iter().any(|name| name == tool.name);
    Ok(TOOLS.iter().filter(chosen).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rules_are_sentences() {
        for (index, tool) in TOOLS.iter().enumerate() {
            assert!(tool.rule.ends_with('.'), "{}", tool.name);
            assert!(TOOLS[..index].iter().all(|other| other.name != tool.name), "{}", tool.name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        assert_eq!(choose(&[]).expect("all").len(), TOOLS.len());
        let chosen = choose(&["pyperf".into(), "hyperfine".into()]).expect("both are listed");
        assert_eq!(chosen.iter().map(|tool| tool.name).collect::<Vec<_>>(), ["hyperfine", "pyperf"]);
        let failure = choose(&["stopwatch".into()]).err().expect("no such tool");
        assert!(failure.to_string().contains("hyperfine"), "{failure}");
    }
}
