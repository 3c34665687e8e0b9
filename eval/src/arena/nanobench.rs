//! nanobench: short epochs in turns, and the error that it prints beside its figures.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::stage::{Operations, Stage};
use super::tool::{Finding, Question, Ready, Tool, number, unreadable};
use crate::files::write;
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::requirement::Requirement;

pub(super) const TOOL: Tool = Tool {
    name: "nanobench",
    rule: "epochs of 100 µs, eleven of one side and eleven of the other in turns; they differ if the ratio of the \
           medians is farther from 1 than the sum of the two sides' err% (median absolute per cent error); ratio of \
           the medians.",
    needs: || vec![Requirement::program("xz-utils", "xz")],
    prepare,
};

const SOURCE: &str = "nanobench.cc";
const HEADER: &str = "nanobench.h";

/// No Debian package ships the header. The source of this one holds it.
const CARRIER: &str = "litecoin=0.21.4-1";
const RELEASE: &str = "trixie";
const INSIDE: &str = "*/src/bench/nanobench.h";

/// How long one call is: many of them make an epoch of 100 µs.
const CALL: f64 = 5_000.0;

fn prepare(stage: &Stage<'_>) -> Result<Ready, Failure> {
    let folder = match stage.nanobench.as_deref().map(Path::parent) {
        Some(folder) => folder.unwrap_or(Path::new("/")).to_path_buf(),
        None => stage.tools.join("nanobench"),
    };
    if !folder.join(HEADER).is_file() {
        fetch(stage, &folder)?;
    }
    let program = stage.compile(SOURCE, &["-isystem", &folder.to_string_lossy()])?;
    let shortest = stage.pinned(&program).arguments(["0", "1000", "1000", "0"]).read()?;
    let version = serde_json::from_str::<Value>(&shortest).ok();
    let version = version.and_then(|it| it["version"].as_str().map(str::to_owned));
    let version = version.ok_or_else(|| unreadable("the version of nanobench", shortest))?;
    Ok(Ready { version, weigh: Box::new(move |question| weigh(question, &program)) })
}

fn weigh(question: &Question<'_>, program: &Path) -> Result<Finding, Failure> {
    let operations = question.operations(CALL);
    let text = question
        .stage
        .pinned(program)
        .arguments([
            question.work.index.to_string(),
            operations.left.to_string(),
            operations.right.to_string(),
            question.stage.seconds.to_string(),
        ])
        .read()?;
    judge(&text, operations).map_err(|reason| unreadable("what nanobench says", reason))
}

/// The medians and errors of both sides, as a finding.
pub(crate) fn judge(text: &str, operations: Operations) -> Result<Finding, String> {
    let text = serde_json::from_str::<Value>(text).map_err(|error| error.to_string())?;
    let ratio = number(&text, "/right/median")? / number(&text, "/left/median")?;
    let error = number(&text, "/left/error")? + number(&text, "/right/error")?;
    Ok(operations.finding((ratio - 1.0).abs() > error, ratio))
}

/// Have the package manager fetch the source of the carrier, from the mirror that this machine already
/// uses and with lists of our own, and take the header out of it. The machine's lists stay as they are.
fn fetch(stage: &Stage<'_>, folder: &Path) -> Result<(), Failure> {
    let remedy = format!("name a {HEADER} that you have with --nanobench");
    let failure = |tried: String, reason: String| Failure::new(tried, reason, remedy.clone());
    let apt = stage.scratch.join("apt");
    for name in ["state/lists/partial", "cache/archives/partial", "source"] {
        let path = apt.join(name);
        std::fs::create_dir_all(&path)
            .map_err(|error| failure(format!("make {}", path.display()), error.to_string()))?;
    }
    let mirror = Command::new("apt-get")
        .arguments(["indextargets", "--format", "$(REPO_URI)"])
        .arguments(["Created-By: Packages", "Label: Debian", "Component: main"])
        .remedy(&remedy)
        .read()?;
    let mirror = mirror.lines().next().ok_or_else(|| {
        failure("find a mirror of Debian".into(), "the package manager here uses none".into())
    })?;
    let sources = apt.join("sources.list");
    write(&sources, &format!("deb-src {mirror} {RELEASE} main\n"), &remedy)?;
    let apt_get = || {
        let option = |name: &str, path: PathBuf| format!("--option={name}={}", path.display());
        Command::new("apt-get").directory(&apt.join("source")).remedy(&remedy).arguments([
            option("Dir::State", apt.join("state")),
            option("Dir::Cache", apt.join("cache")),
            option("Dir::Etc::sourcelist", sources.clone()),
            option("Dir::Etc::sourceparts", apt.join("none")),
        ])
    };
    apt_get().arguments(["--quiet", "update"]).read()?;
    apt_get().arguments(["--quiet", "--download-only", "--tar-only", "source", CARRIER]).read()?;
    let archive = std::fs::read_dir(apt.join("source")).ok().and_then(|mut files| files.next()?.ok());
    let archive = archive.ok_or_else(|| failure(format!("fetch {CARRIER}"), "nothing came".into()))?;
    let header = Command::new("tar")
        .arguments(["--extract", "--to-stdout", "--wildcards", INSIDE, "--file"])
        .argument(archive.path())
        .remedy(&remedy)
        .read()?;
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(HEADER), header));
    written.map_err(|error| failure(format!("write {HEADER}"), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    #[test]
    fn a_ratio_beyond_both_errors_is_a_difference() {
        let operations = Operations { left: 100, right: 101 };
        let judged = |right: f64| {
            let text = format!(
                r#"{{"version": "4.0.0", "left": {{"median": 2.0, "error": 0.25}}, "right": {{"median": {right}, "error": 0.125}}}}"#
            );
            judge(&text, operations).expect("it is a line of figures")
        };
        assert_eq!(judged(2.5), Finding { truth: 1.01, ratio: Some(1.25), answer: Answer::Same });
        assert_eq!(judged(2.75).answer, Answer::Same);
        assert_eq!(judged(2.76).answer, Answer::Different);
        assert_eq!(judged(1.2).answer, Answer::Different);
        assert!(judge("{}", operations).is_err());
    }
}
