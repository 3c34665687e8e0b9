//! Everything that must hold, as a list of steps: what CI runs.

use std::process::ExitCode;

use crate::architecture::{self, Architecture, Target};
use crate::failure::Failure;
use crate::requirement::{self, Requirement};
use crate::step::{self, Step};
use crate::workspace::{Profile, Workspace};
use crate::{bpf, disassembly, emulated, evaluation, exports, guests, modules, site, statistics, tidy};
use tenbin_model::words::comma;

/// Run the steps whose name holds `only`, or all of them; or print their names.
///
/// The tally is the last line that is printed, so a step that failed is told by the exit status.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>, list: bool) -> Result<ExitCode, Failure> {
    let mut steps = steps(workspace);
    steps.retain(|step| only.is_none_or(|word| step.name.contains(word)));
    if steps.is_empty() {
        let tried = format!("find a step called {}", only.unwrap_or_default());
        return Err(Failure::new(tried, "there is none", "see `cargo xtask test --list`"));
    }
    if list {
        steps.iter().for_each(|step| println!("{}", step.name));
        return Ok(ExitCode::SUCCESS);
    }
    let tally = step::run_all(workspace, &steps);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn steps(workspace: &Workspace) -> Vec<Step<'_>> {
    let cargo = move |arguments: &'static [&'static str]| {
        move || workspace.cargo().arguments(arguments.iter().copied()).run()
    };
    let tests = move |arguments: &'static [&'static str]| {
        move || workspace.cargo().argument("test").arguments(arguments.iter().copied()).run_tests()
    };
    let mut steps = vec![
        Step::new("format", vec![requirement::rustfmt()], cargo(&["fmt", "--all", "--check"])),
        Step::new("lock files", vec![], move || locked(workspace)),
        Step::new("tidy", vec![], move || tidy::run(workspace)),
        Step::new(
            "clippy",
            vec![requirement::clippy()],
            cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        ),
        // Cargo runs one program of tests after the other, and many of them keep less than a CPU busy: so two
        // cargos do, each with about half of them.
        Step::new(
            "tests, of units and a to j",
            requirement::work(),
            tests(&["--workspace", "--no-fail-fast", "--lib", "--bins", "--test", "[!k-z]*"]),
        )
        .beside(),
        Step::new(
            "tests, k to z",
            requirement::work(),
            tests(&["--workspace", "--no-fail-fast", "--test", "[k-z]*"]),
        ),
        Step::new("documentation", vec![], move || documentation(workspace)),
    ];
    steps.push(Step::new("bpf", bpf::needs(), move || bpf::check(workspace, false)));
    steps.push(Step::new("site", vec![], move || site::check(workspace)));
    // The last of three links keeps one CPU busy for more than a minute: what follows does not need it.
    let as_shipped = Architecture::ALL.into_iter().flat_map(Target::to_build).collect();
    let build = move || workspace.build_all(&Architecture::ALL, Profile::Dist);
    steps.push(Step::new("build as shipped", as_shipped, build).beside());
    let evaluation = move |step: &'static str| move || evaluation::check(workspace, step);
    // It leaves the firmware built for the step of that name.
    steps.push(Step::new("spin", requirement::spin(), evaluation("spin")));
    // A browser mostly waits; the others keep one CPU busy at most: emulators, and a survey.
    steps.push(Step::new("browser", requirement::browser(), move || evaluation::browser(workspace)).beside());
    steps.push(Step::new("firmware", requirement::firmware_in_qemu(), evaluation("firmware")).beside());
    steps.push(Step::new("schema", vec![], evaluation("schema")).beside());
    for architecture in architecture::foreign() {
        let name = format!("reach {}", architecture.name());
        steps.push(Step::new(name, architecture.to_run(), move || reach(workspace, architecture)));
    }
    steps.push(Step::new(
        "instructions",
        vec![
            Requirement::program("binutils-riscv64-linux-gnu", "riscv64-linux-gnu-objdump"),
            Requirement::program("qemu-user-static", "qemu-riscv64-static"),
        ],
        // What the boot checker takes an instruction for, held against GNU's assembler and against QEMU. Of
        // the whole workspace, as the tests before: of one package its dependencies would be built with other
        // features.
        tests(&["--workspace", "--test", "encodings", "--test", "execution", "--", "--ignored"]),
    ));
    steps.push(Step::new(
        "worker in Python",
        vec![Requirement::program("python3", "python3")],
        // The one that `tenbin include --protocol` prints.
        tests(&["--workspace", "--test", "functions", "--", "--ignored", "the_worker_of_the_page"]),
    ));
    for architecture in architecture::foreign() {
        // What `tenbin weigh --asm` makes there, done by an emulator.
        let test = format!("instructions_of_{}_run", architecture.name());
        steps.push(Step::new(
            format!("assembler {}", architecture.name()),
            architecture.to_run(),
            move || {
                let command = workspace.cargo().arguments(["test", "--workspace", "--lib", "--"]);
                command.arguments(["--ignored", test.as_str()]).run_tests()
            },
        ));
    }
    steps.push(Step::new("guests, alone", guests::needs(), move || guests::check_alone(workspace)).alone());
    // One emulator at a time, which keeps a CPU busy.
    steps.push(Step::new("guests, beside", guests::needs(), move || guests::check(workspace)).beside());
    for architecture in Architecture::ALL {
        let name = format!("disassembly {}", architecture.name());
        let needs = disassembly::needs(architecture);
        steps.push(Step::new(name, needs, move || disassembly::check(workspace, architecture)));
    }
    for architecture in architecture::foreign() {
        let name = format!("emulated {}", architecture.name());
        steps.push(Step::new(name, architecture.to_run(), move || emulated::check(workspace, architecture)));
    }
    steps.push(Step::new("modules, stubs", modules::stubs_needs(), move || modules::stubs(workspace)));
    steps.push(Step::new("modules, style", modules::style_needs(), move || modules::style(workspace)));
    steps.push(Step::new("modules, build", modules::build_needs(), move || modules::build(workspace)));
    steps.push(Step::new("modules, sparse", modules::sparse_needs(), move || modules::sparse(workspace)));
    steps.push(Step::new("modules, arithmetic", modules::arithmetic_needs(), move || {
        modules::arithmetic(workspace)
    }));
    let lint = vec![requirement::rustfmt(), requirement::clippy()];
    steps.push(Step::new("eval", lint, move || evaluation::tests(workspace)));
    steps.push(Step::new("arena", vec![], evaluation("arena")));
    steps.push(Step::new("exports", exports::needs(), move || exports::check(workspace)));
    steps.push(Step::new("statistics", statistics::needs(), move || statistics::check(workspace)));
    steps
}

/// That every workspace's lock file knows what its crates depend on: those of `eval` and of the arena depend
/// on crates of the house, and a dependency of these is one of theirs.
fn locked(workspace: &Workspace) -> Result<(), Failure> {
    for folder in [".", "eval", "arena"] {
        let command = workspace.cargo().directory(&workspace.root().join(folder));
        let remedy = format!("run `cargo metadata` in {folder} and commit its Cargo.lock");
        command.arguments(["update", "--workspace", "--locked", "--quiet"]).remedy(&remedy).run()?;
    }
    Ok(())
}

fn documentation(workspace: &Workspace) -> Result<(), Failure> {
    let command = workspace.cargo().variable("RUSTDOCFLAGS", "-D warnings");
    command.arguments(["doc", "--workspace", "--no-deps"]).run()?;
    workspace.cargo().arguments(["test", "--workspace", "--no-fail-fast", "--doc"]).run_tests()
}

/// Tests of what only a kernel has, and an emulator of programs has not: ptrace, a bound on memory, a list of
/// mappings that is a process's own, what a forked child has in common, the system call that a process waits
/// in, the time that it took, this very program as another process. Those of processes run in a guest of the
/// architecture instead.
const OF_A_KERNEL: &[&str] = &[
    guests::OF_PROCESSES[0],
    guests::OF_PROCESSES[1],
    "memory_is_bounded",
    "crews_that_are_forked_later",
    "a_wait_survives_being_stopped",
    "a_thread_that_waits_is_seen_in_its_call",
    "however_the_process_ends",
    "a_child_that_is_forked_meanwhile",
    "a_journal_",
    "a_fixed_layout_is_a_personality",
    "the_time_of_a_process_has",
];

/// The tests of the crate that holds the machine code, built for and run as `architecture`.
fn reach(workspace: &Workspace, architecture: Architecture) -> Result<(), Failure> {
    println!("not run under an emulator of programs: {}", comma(OF_A_KERNEL));
    workspace
        .cargo()
        .variables(architecture.cargo_variables())
        .arguments(["test", "--package", "tenbin-metal", "--no-fail-fast"])
        .arguments(["--target", architecture.names().target, "--"])
        // One at a time: who forks while another thread is at work may leave the child with a lock of the
        // emulator's own that nobody opens any more (QEMU 7.2), and then waits for ever.
        .arguments(["--test-threads", "1"])
        .arguments(OF_A_KERNEL.iter().flat_map(|test| ["--skip", test]))
        .run_tests()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test, or a module of tests, that gets another name would be run where it cannot pass.
    #[test]
    fn what_an_emulator_does_not_run_are_tests() {
        let workspace = Workspace::find().expect("the test runs in the repository");
        let sources = std::process::Command::new("git")
            .current_dir(workspace.root())
            .args(["grep", "-h", "-e", "fn [a-z_]*(", "--", "crates/metal"])
            .output()
            .expect("git lists the functions");
        let functions = String::from_utf8_lossy(&sources.stdout).into_owned();
        for test in OF_A_KERNEL {
            let present = if test.contains("::") {
                let module = format!("crates/metal/src/{}.rs", test.replace("::", "/"));
                workspace.root().join(module).is_file()
            } else {
                functions.contains(test)
            };
            assert!(present, "no test is called {test}");
        }
    }

    #[test]
    fn every_architecture_is_read_and_every_other_one_is_reached() {
        let workspace = Workspace::find().expect("the test runs in the repository");
        let names = steps(&workspace).into_iter().map(|step| step.name).collect::<Vec<_>>();
        for architecture in Architecture::ALL {
            assert!(names.contains(&format!("disassembly {}", architecture.name())));
            assert_eq!(names.contains(&format!("reach {}", architecture.name())), architecture.foreign());
        }
    }
}
