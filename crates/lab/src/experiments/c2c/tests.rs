use tenbin_metal::allowed_cpus;
use tenbin_model::Machine;
use tenbin_model::machine::{CoreKind, CpuPlace, Observed};

use super::*;
use crate::rehearsal::{TestRequest, arrangements, cache, machine_with, refuses, rehearsed};

/// A cell of two workers, on one CPU if there is one, whose waits last `patience` turns.
fn with_lines(patience: u64, body: impl FnOnce(&Request<'_>, &Descriptor, Arrangement, Lines)) {
    let cpus: Vec<Cpu> = allowed_cpus().unwrap().into_iter().cycle().take(2).collect();
    let asked = TestRequest { cpus: cpus.clone(), ..TestRequest::default() };
    let request = asked.request();
    let exchange = || Arc::new(Exchange::new().unwrap().with_patience(patience));
    let lines = Lines {
        team: Team::gather(request.clock, &cpus).unwrap(),
        exchange: exchange(),
        impatient: exchange(),
        place: 0,
    };
    body(&request, &describe(), cell((cpus[0], cpus[1]), 20, None, true), lines);
}

#[test]
fn a_partner_that_is_waited_for_in_vain_is_the_machine_s_fault() {
    with_lines(0, |request, descriptor, arrangement, mut lines| {
        for variant in [SWAP, FLAGS] {
            let seen = lines.check(variant);
            assert!(matches!(seen, Err(Fault::Unanswered { made: 0, asked: CHECKED, .. })), "{seen:?}");
        }
        let cell = rehearsed((descriptor, arrangement), request, &mut lines);
        refuses(&cell.refusal.unwrap(), "the other worker did not answer", "", "quieter");
    });
}

#[test]
fn a_partner_that_stops_short_fails_the_check_at_any_patience() {
    for patience in [0, 100, PATIENCE_WITH_A_FAULT] {
        with_lines(patience, |_, _, _, mut lines| {
            let seen = lines.check(SHORT);
            assert!(matches!(seen, Ok(Seen::Broken(_))), "{seen:?}");
        });
    }
}

#[test]
fn only_waiting_in_vain_is_no_wrong_work() {
    let rounds = 5;
    let cases = [
        // Both gave up, before and behind the leader's next step.
        (SWAP, [3, 3], (7, 0), 2, true),
        (SWAP, [2, 3], (6, 0), 2, true),
        (FLAGS, [3, 3], (4, 3), 2, true),
        (FLAGS, [0, 0], (0, 0), 2, true),
        // The last answer came too late.
        (SWAP, [4, 5], (10, 0), 1, true),
        (FLAGS, [4, 5], (5, 5), 1, true),
        // It stopped short, and gave nothing up.
        (SWAP, [4, 4], (9, 0), 1, false),
        (FLAGS, [4, 4], (5, 4), 1, false),
        // What stands there is not what was done.
        (SWAP, [3, 3], (8, 0), 2, false),
        (FLAGS, [3, 3], (3, 4), 2, false),
        (SWAP, [1, 3], (6, 0), 2, false),
        (SWAP, [5, 5], (10, 0), 0, false),
    ];
    for (variant, done, value, given_up, expected) in cases {
        assert_eq!(
            starved(variant, done, value, rounds, given_up),
            expected,
            "{variant:?}: {done:?}, {value:?}, {given_up} given up"
        );
    }
}

/// 128 CPUs: two threads a core numbered far apart, sixteen groups of four cores that share an L3.
fn large() -> Machine {
    let place = |cpu: u32| {
        let core = cpu % 64;
        let first = core / 4 * 4;
        let group = (first..first + 4).chain(first + 64..first + 68);
        CpuPlace {
            cpu: Cpu(cpu),
            package: Observed::Known(core / 32),
            core: Observed::Known(core),
            siblings: Observed::Known(vec![Cpu(core), Cpu(core + 64)]),
            node: Observed::Known(core / 32),
            kind: Observed::Known(CoreKind::Uniform),
            caches: Observed::Known(vec![cache(3, Bytes(32 << 20), group)]),
        }
    };
    Machine { cpus: (0..128).map(place).collect(), ..machine_with(Bytes(1 << 36)) }
}

#[test]
fn of_many_cpus_some_are_measured_in_all_pairs_of_every_class() {
    for (effort, count) in [(Effort::Quick, 8), (Effort::Normal, 16)] {
        let cpus = (0..128).map(Cpu).collect();
        let asked = TestRequest { machine: large(), cpus, effort, seed: 3, ..TestRequest::default() };
        let request = asked.request();
        let chosen = measured(&request, count);
        assert_eq!(chosen.len(), count, "{chosen:?}");
        let pairs = pairs(&request, &chosen);
        assert_eq!(pairs.len(), count * (count - 1) / 2);
        for class in [Shared::Core, Shared::Cache(3), Shared::Machine] {
            assert!(
                pairs.iter().any(|&(one, other)| shared(request.machine, one, other) == class),
                "{class}: {chosen:?}"
            );
        }
        let cells = arrangements(&plan(&request).unwrap());
        let controls = cells.iter().filter(|cell| cell.parameter("control") != Some("")).count();
        assert!(controls >= 2 && cells.len() == pairs.len() + controls);
    }
}
