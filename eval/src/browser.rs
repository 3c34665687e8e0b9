//! What a browser makes of a report: the program beside `browser/package.json` opens each in Chromium.

use std::fs;
use std::path::{Path, PathBuf};

use xtask::architecture::{Architecture, Target};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

use crate::commands::absolute;
use crate::files::write;

const PACKAGE: &str = include_str!("../browser/package.json");
const PROGRAM: &str = include_str!("../browser/report.mjs");

const REMEDY: &str = "install nodejs, npm and chromium; what was said about a page stands above";

/// What `cargo xtask browser` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The store whose runs become reports, instead of the one that the tests keep.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The run.
    #[arg(long, default_value = "latest")]
    run: String,
    /// The browser.
    #[arg(long, default_value = "/usr/bin/chromium")]
    chromium: PathBuf,
    /// How often each page is timed.
    #[arg(long, default_value_t = 5)]
    times: u32,
}

/// The step of `cargo xtask test`: as without arguments, and nothing is timed.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let chromium = "/usr/bin/chromium".into();
    run(workspace, &Arguments { store: None, run: "latest".into(), chromium, times: 0 })
}

/// Makes a report and opens it as people do who see, who do not, who have no mouse, no colours or no program.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("browser")?;
    for (name, text) in [("package.json", PACKAGE), ("report.mjs", PROGRAM)] {
        write(&folder.join(name), text, REMEDY)?;
    }
    let kept = workspace.root().join("fixtures/pages/survey.db");
    let kept = arguments.store.as_deref().map_or(Ok(kept), absolute)?;
    // A store that is opened may change its file.
    let store = folder.join("store.db");
    fs::copy(&kept, &store)
        .map_err(|error| Failure::new(format!("copy {}", kept.display()), error, REMEDY))?;
    let tenbin = |words: &[&str]| {
        let command = host.command(&binary).arguments(words).variable("TENBIN_STORE", &store);
        command.directory(&folder).read()
    };
    tenbin(&["report", &arguments.run, "-o", "report.html"])?;
    if arguments.store.is_none() {
        small_enough("a report of every question", size(&folder.join("report.html"))?, FULL)?;
    }
    tenbin(&["report", &arguments.run, "--samples", "-o", "report-samples.html"])?;
    let mut beside = vec!["report".to_owned()];
    for (times, page, most) in
        [(500, "hostile.html", TEN_THOUSAND), (5_000, "hostile-large.html", HUNDRED_THOUSAND)]
    {
        write(&folder.join("hostile.json"), &hostile(times), REMEDY)?;
        let imported = tenbin(&["import", "hostile.json"])?;
        let run = imported.trim_end().rsplit(' ').next().unwrap_or_default().to_owned();
        tenbin(&["report", &run, "-o", "without.html"])?;
        tenbin(&["report", &run, "--samples", "-o", page])?;
        let more = size(&folder.join(page))?.saturating_sub(size(&folder.join("without.html"))?);
        small_enough(&format!("what {} samples add to a report", 20 * times), more, most)?;
        beside.push(run);
    }
    beside.extend(["-o", "hostile-beside.html"].map(str::to_owned));
    tenbin(&beside.iter().map(String::as_str).collect::<Vec<_>>())?;
    let install = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
    Command::new("npm").arguments(install).directory(&folder).remedy(REMEDY).run()?;
    let node = Command::new("node").argument("report.mjs").argument(&arguments.chromium);
    let pages = ["report", "report-samples", "hostile", "hostile-large", "hostile-beside"];
    let node = node
        .argument(arguments.times.to_string())
        .argument(".")
        .arguments(pages.map(|page| format!("{page}.html")));
    node.directory(&folder).remedy(REMEDY).run()?;
    println!("screenshots are in {}", folder.display());
    Ok(())
}

/// The most bytes of a report of a run of every question.
const FULL: u64 = 400_000;

/// The most bytes that so many samples add to a report, with the program that draws them.
const TEN_THOUSAND: u64 = 150_000;
const HUNDRED_THOUSAND: u64 = 600_000;

fn size(path: &Path) -> Result<u64, Failure> {
    let file = fs::metadata(path);
    file.map(|it| it.len()).map_err(|error| Failure::new(format!("read {}", path.display()), error, REMEDY))
}

fn small_enough(what: &str, bytes: u64, most: u64) -> Result<(), Failure> {
    println!("{what}: {} kB of at most {}", bytes.div_ceil(1000), most / 1000);
    if bytes <= most {
        return Ok(());
    }
    let reason = format!("{what}: {bytes} bytes are more than {most}");
    Err(Failure::new(
        "approve the size of a report",
        reason,
        "make what crates/document/src/html writes shorter",
    ))
}

/// Names by which users have broken out of markup, styles and scripts, a line each.
const HOSTILE: &str = include_str!("../../fixtures/hostile.txt");

/// Times of commands of these names, as hyperfine keeps them: so many of each.
fn hostile(times: u32) -> String {
    let result = |(command, name): (u32, &str)| {
        // Some are alike, some are not, and all of them scatter.
        let time = |run: u32| 0.1 + f64::from(command / 2) * 0.001 + f64::from(run * 7919 % 100) * 1e-5;
        let times: Vec<f64> = (0..times).map(time).collect();
        serde_json::json!({ "command": name, "times": times })
    };
    let results: Vec<_> = (0..).zip(HOSTILE.lines()).map(result).collect();
    serde_json::json!({ "results": results }).to_string()
}
