//! What a user reads, whole.

use tenbin_model::{
    Bytes, Check, Ended, Finding, Gauge, Machine, Picoseconds, Published, Quantity, Reading, Refusal, Run,
    Share, VariantIndex,
};

use super::*;
use crate::across::{Kept, across};
use crate::specimen::{cell, comparing, descriptor, reported, run};

/// A run with everything that a report can show: workers, failures, gauges, findings, published figures.
fn full(quantity: Quantity) -> Run {
    let mut run = run(2.0, Machine::unobserved("a test"));
    let trial = &mut run.trials[0];
    trial.descriptor.quantity = quantity;
    for sample in &mut trial.cells[0].samples {
        let slow = Share { elapsed: sample.elapsed, failures: 250 * u64::from(sample.variant.0) };
        let fast = Share { elapsed: Picoseconds(sample.elapsed.0 / 2), failures: 0 };
        sample.shares = vec![slow, fast];
        sample.user = Picoseconds(sample.elapsed.0 * 2);
    }
    let starved = Reading::Time(Picoseconds::from_micros(15));
    trial.cells[0].gauges = vec![
        Gauge { variant: VariantIndex(0), name: "longest starvation".into(), reading: starved },
        Gauge { variant: VariantIndex(1), name: "failures in a row".into(), reading: Reading::Count(7.0) },
    ];
    trial.findings = vec![Finding {
        experiment: "made-up".into(),
        sentence: "Something was seen.".into(),
        evidence: "once".into(),
        confidence: "certain".into(),
    }];
    for (place, ratio) in [("at 2 threads", Some(1.94)), ("at 64 threads", None)] {
        trial.descriptor.published.push(Published {
            machine: "A machine".into(),
            date: "2024-02-24".into(),
            what: "what was done there".into(),
            measure: "user time".into(),
            cell: place.into(),
            left: "lock xadd".into(),
            right: "a lock cmpxchg loop".into(),
            ratio,
        });
    }
    run
}

#[test]
fn a_page_has_tables_findings_and_published_figures() {
    let run = full(Quantity::NanosecondsPerOperation);
    insta::assert_snapshot!(reported(&run, None).sheets[0].text(100));
}

#[test]
fn reasons_for_status_4_name_experiment_variant_and_cell() {
    let mut run = full(Quantity::NanosecondsPerOperation);
    assert_eq!(faults(&reported(&run, None).report), None);
    let check = |variant, sabotage, met| {
        let (variant, seen) = (VariantIndex(variant), "1 addition of 9 was lost".into());
        Check { variant, sabotage, seen, met }
    };
    run.trials[0].cells[0].checks = vec![check(0, false, true), check(1, false, false), check(0, true, true)];
    let text = faults(&reported(&run, None).report).unwrap().text(300);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "Fault: `a lock cmpxchg loop` of `made-up`, at 2 threads, broke the specification: 1 addition of 9 was lost.",
            "Fault of tenbin: the planted fault `lock xadd` of `made-up`, at 2 threads, passed the check: 1 addition of 9 was lost. \
             Please report it.",
        ]
    );
}

#[test]
fn lines_of_evidence_are_kept_and_long_ones_folded() {
    let mut run = full(Quantity::NanosecondsPerOperation);
    let evidence = "API: the call of fork@GLIBC_2.2.5 is bound to fork@@GLIBC_2.2.5 in /usr/lib/libc.so.6; C library: \
                    glibc 2.36\nThe process:\n  clone by `syscall` of libc.so.6, in _Fork\n    rax=56 clone\n    \
                    rdi=0x1200011 flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD\nResult: rax = 0x47d4";
    run.trials[0].findings[0].evidence = evidence.into();
    let text = reported(&run, None).sheets[0].text(80);
    let (_, findings) = text.split_once("Also observed\n").unwrap();
    insta::assert_snapshot!(findings.split_once("\n\n").unwrap().0);
}

#[test]
fn throughput_is_shown_as_bytes_in_a_second() {
    let mut run = full(Quantity::BytesPerSecond);
    run.trials[0].cells[0].arrangement.work = Bytes::from_kib(256).0;
    insta::assert_snapshot!(reported(&run, None).sheets[0].text(100));
}

#[test]
fn a_survey_is_a_line_an_experiment() {
    let mut run = full(Quantity::NanosecondsPerOperation);
    let mut second = run.trials[0].clone();
    second.descriptor.name = "a-long-name".into();
    second.cells = vec![cell(3, 1.0, 0.01, Ended::Budget, 1)];
    run.trials.push(second);
    insta::assert_snapshot!(survey(&reported(&run, None).report, 80).text(80));
}

#[test]
fn what_a_lateness_is_taken_of_is_a_firing_and_no_epoch() {
    let scale = |descriptor| {
        let text = described(descriptor).text(100);
        text.lines().find(|line| line.starts_with("scale")).unwrap().to_owned()
    };
    let late = descriptor(Quantity::Lateness);
    assert_eq!(scale(&late), "scale     a sample is one firing; equivalent means within 1.00 %");
    let other = run(2.0, Machine::unobserved("a test")).trials.remove(0).descriptor;
    assert_eq!(scale(&other), "scale     epochs of 100 µs; equivalent means within 1.00 %");
}

/// How the kernel divides a thread's time into user and system is not the variant's doing; their sum is.
#[test]
fn what_the_kernel_charged_is_one_column() {
    let mut run = full(Quantity::NanosecondsPerOperation);
    let whole = reported(&run, None).sheets[0].text(100);
    for sample in &mut run.trials[0].cells[0].samples {
        (sample.user, sample.system) =
            (Picoseconds(sample.user.0 - sample.user.0 / 4), Picoseconds(sample.user.0 / 4));
    }
    let divided = reported(&run, None).sheets[0].text(100);
    assert!(whole.contains("CPU s/10⁶") && !whole.contains("user s/10⁶"), "{whole}");
    assert_eq!(whole, divided);
}

#[test]
fn two_runs_are_shown_answer_first_and_machines_next() {
    let (one, other) = (run(2.0, Machine::unobserved("a test")), run(3.0, Machine::unobserved("another")));
    let kept = |id, run| [Kept { id, run }];
    insta::assert_snapshot!(
        compared(&across(&comparing(), &kept("a", &one), &kept("b", &other), &[])).text(100)
    );
}

#[test]
fn what_was_not_measured_says_so_once() {
    let mut run = run(2.0, Machine::unobserved("a test"));
    let cells = &mut run.trials[0].cells;
    let unmeasured = ["at 4 threads", "at 8 threads"].map(|label| {
        let mut cell = cell(0, 1.0, 0.0, Ended::Budget, 1);
        cell.arrangement.label = label.into();
        cell.refusal = Some(Refusal {
            reached: "tenbin was interrupted before this was measured".into(),
            needs: "all its time".into(),
            remedy: "run it again".into(),
        });
        cell
    });
    cells.extend(unmeasured);
    let text = reported(&run, None).sheets[0].text(200);
    assert_eq!(text.matches("was interrupted before this").count(), 1, "{text}");
    assert!(text.contains("Run it again. (2 answers)"), "{text}");
}
