//! The ladder on this machine; what every experiment is held to is in the tests of all of them.

use std::collections::BTreeSet;

use tenbin_metal::calls::{ClockName, Question, Sum};
use tenbin_model::{Effort, VariantIndex};

use super::rungs::{Plant, Through};
use super::*;
use crate::rehearsal::{TestRequest, settings};

fn with_request<T>(body: impl Fn(&Request<'_>) -> T) -> T {
    body(&TestRequest::default().request())
}

/// What calls `what` without a vDSO.
fn subject(what: What, plant: Option<Plant>) -> Subject {
    let rung = Rung { name: "a rung of a test", what: "", what_is_called: what, plant };
    rung.subject(Err(NoVdso::NotGiven)).unwrap()
}

fn planned(effort: Effort, given: &[(&str, &str)]) -> Result<Plan, Unfit> {
    let settings = settings(&describe(), given)?;
    with_request(|request| plan(&Request { settings: &settings, effort, ..*request }))
}

#[test]
fn what_is_compared_are_rungs_and_what_is_planted_comes_last() {
    let names: BTreeSet<_> = RUNGS.iter().map(|rung| rung.name).collect();
    assert_eq!(names.len(), RUNGS.len());
    for name in COMPARISONS.iter().flat_map(|&(left, right)| [left, right]) {
        assert!(names.contains(name), "{name}");
    }
    assert!(RUNGS.is_sorted_by_key(|rung| rung.plant.is_some()));
}

/// Every rung is either in the cell or named as absent with its reason.
#[test]
fn no_rung_is_left_out_in_silence() {
    with_request(|request| {
        let planned = plan(request).unwrap().cells.remove(0);
        let mut apparatus = planned.open(request).unwrap();
        let cell = planned.arrangement;
        let findings = apparatus.findings().unwrap();
        let absent = findings.iter().find(|finding| finding.sentence.contains("left out"));
        for (index, rung) in (0..).map(VariantIndex).zip(RUNGS).filter(|(_, rung)| rung.plant.is_none()) {
            let ends = [",", ":"].map(|end| format!("{}{end}", rung.name));
            let named = absent.is_some_and(|finding| ends.iter().any(|end| finding.evidence.contains(end)));
            assert_ne!(cell.variants.contains(&index), named, "{}", rung.name);
        }
        // What needs neither a vDSO nor an x86 is there on every machine.
        for name in [rungs::CALLED, rungs::LINKED, rungs::PARENT_BY_SYSTEM_CALL, rungs::CLOCK_BY_SYSTEM_CALL]
        {
            assert!(cell.variants.contains(&index(name)), "{name}");
        }
    });
}

#[test]
fn without_a_vdso_its_rungs_are_absent_and_the_others_stay() {
    let here = Here { vdso: Err(NoVdso::NotGiven), unknown: Err("a filter of a test".into()) };
    for rung in RUNGS {
        let absent = here.subject(rung).err();
        let expected = match rung.what_is_called {
            What::Asked(Through::Vdso, _) => Some(Absent::NoVdso(NoVdso::NotGiven)),
            What::Asked(_, Question::Unknown) => Some(Absent::Filtered("a filter of a test".into())),
            _ => None,
        };
        assert_eq!(absent, expected, "{}", rung.name);
    }
}

/// What a child finds where no filter stands before the kernel, which is what tests run under nearly always.
#[test]
fn a_child_says_whether_an_unknown_call_may_be_made() {
    with_request(|request| {
        let filtered = Watchers::of_this_process().map_or(true, |seen| seen.seccomp != Some(Seccomp::Off));
        match unknown_in_a_child(request) {
            Ok(()) => {}
            Err(why) if filtered => eprintln!("skipped: {why}"),
            Err(why) => panic!("no filter is there, and {why}"),
        }
    });
}

/// Each kind of answer, and a fault in it, on a pass that is checked and while it is timed.
#[test]
fn every_kind_of_answer_is_looked_at() {
    let clock = |clock| What::Asked(Through::Kernel, Question::Clock(clock));
    let parent = What::Asked(Through::Kernel, Question::Parent);
    let cases = [
        (What::Sum(Sum::Inlined), Plant::OneShort),
        (What::Sum(Sum::Linked), Plant::OneShort),
        (clock(ClockName::Monotonic), Plant::Still),
        (clock(ClockName::Realtime), Plant::Still),
        (clock(ClockName::MonotonicCoarse), Plant::Still),
        (clock(ClockName::ProcessCpu), Plant::Still),
        (What::Asked(Through::Kernel, Question::TimeOfDay), Plant::Still),
        (What::Asked(Through::Kernel, Question::Random), Plant::Still),
        (parent, Plant::Another(Question::Own)),
        (parent, Plant::Another(Question::Unknown)),
        (What::Asked(Through::Kernel, Question::Unknown), Plant::Another(Question::Parent)),
        (What::Asked(Through::Kernel, Question::Cpu), Plant::Another(Question::Parent)),
    ];
    with_request(|request| {
        let team = Team::gather(request.clock, &request.cpus[..1]).unwrap();
        for (what, plant) in cases {
            let (sound, broken) = (subject(what, None), subject(what, Some(plant)));
            let promise = Promise::of(what, team.cpus()[0]);
            let seen = (promise.held(&sound), promise.held(&broken));
            assert!(matches!(seen, (Seen::Met(_), Seen::Broken(_))), "{what:?} {plant:?}: {seen:?}");
        }
    });
}

#[test]
fn what_comes_up_while_it_is_timed_is_seen() {
    let monotonic = What::Asked(Through::Kernel, Question::Clock(ClockName::MonotonicRaw));
    let cases = [
        (What::Sum(Sum::Called), Plant::OneShort),
        (monotonic, Plant::Still),
        (What::Asked(Through::Kernel, Question::Random), Plant::Still),
        (What::Asked(Through::Kernel, Question::Parent), Plant::Another(Question::Own)),
    ];
    with_request(|request| {
        let team = Team::gather(request.clock, &request.cpus[..1]).unwrap();
        for (what, plant) in cases {
            let (sound, broken) = (subject(what, None), subject(what, Some(plant)));
            let mut promise = Promise::of(what, team.cpus()[0]);
            for _ in 0..3 {
                promise.held_while_timed(&sound.call(50), 50).unwrap();
            }
            // A clock that stands still is known once the kernel's has gone on, and bytes when they come
            // again.
            broken.call(50);
            promise.held_while_timed(&sound.call(50), 50).unwrap();
            let seen = [(); 2].map(|()| promise.held_while_timed(&broken.call(50), 50));
            assert!(seen[1].is_err(), "{what:?} {plant:?}");
        }
    });
}

#[test]
fn a_trace_alone_times_nothing_and_a_survey_traces_nothing() {
    let parts = |effort, given: &[(&str, &str)]| {
        let plan = planned(effort, given).unwrap();
        (!plan.cells.is_empty(), plan.look.is_some())
    };
    assert_eq!(parts(Effort::Quick, &[("trace", "fork,read")]), (false, true));
    assert_eq!(parts(Effort::Quick, &[]), (true, false));
    assert_eq!(parts(Effort::Normal, &[]), (true, true));
    let unknown = planned(Effort::Normal, &[("trace", "frok")]);
    assert!(matches!(unknown, Err(Unfit::Usage(message)) if message.contains("frok")));
}

/// A plan starts nothing, so a probe that is wrong costs no measurement.
#[test]
fn a_probe_is_looked_at_in_the_plan() {
    let (nowhere, fork) = (("probe", "/nowhere/probe"), ("trace", "fork"));
    let (missing, unused) = (
        "/nowhere/probe cannot be found",
        "probe=/nowhere/probe: with --quick nothing is traced without --set trace=",
    );
    for (effort, given, words) in [
        (Effort::Quick, &[nowhere, fork][..], missing),
        (Effort::Normal, &[nowhere, fork], missing),
        (Effort::Thorough, &[nowhere, fork], missing),
        (Effort::Normal, &[nowhere], missing),
        // A probe may be sound and still be of no use.
        (Effort::Quick, &[nowhere], unused),
    ] {
        match planned(effort, given) {
            Err(Unfit::Usage(message)) => assert!(message.contains(words), "{message}"),
            other => panic!("{given:?}: {other:?}"),
        }
    }
}

/// What lies below what the place of code costs is shown and not judged.
#[test]
fn the_jump_of_a_linkage_table_is_no_pair() {
    with_request(|request| {
        let cell = plan(request).unwrap().cells.remove(0).arrangement;
        let pairs: Vec<_> = cell.comparisons.iter().map(|pair| (pair.left, pair.right)).collect();
        assert!(cell.variants.contains(&index(rungs::LINKED)));
        assert!(
            pairs.iter().all(|&(left, right)| ![left, right].contains(&index(rungs::LINKED))),
            "{pairs:?}"
        );
        assert!(pairs.contains(&(index(rungs::INLINED), index(rungs::CALLED))), "{pairs:?}");
    });
}
