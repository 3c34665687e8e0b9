use proptest::prelude::*;
use tenbin_metal::Fault;
use tenbin_metal::sampling::Sampled;
use tenbin_metal::symbols::Symbols;
use tenbin_metal::symbols::image::Code;
use tenbin_model::machine::Observed;
use tenbin_model::{Machine, Reading, VariantIndex};

use super::counted::{Counts, sentence};
use super::described::published;
use super::sampled::in_words;
use super::*;
use crate::experiment::{Apparatus, Failure};
use crate::rehearsal::{TestRequest, arrangements, machine_with, says, settings};

/// Calls `body` with a request on a machine of so much memory, with these settings.
fn with_request(memory: u64, given: &[(&str, &str)], body: impl FnOnce(&Request<'_>)) {
    let machine = Machine { numa_balancing: Observed::Known(false), ..machine_with(Bytes(memory)) };
    let settings = settings(&describe(), given).unwrap();
    body(&TestRequest { machine, settings, ..TestRequest::default() }.request());
}

/// The cell of so many threads, set up.
fn opened(request: &Request<'_>) -> Opened {
    plan(request).unwrap().cells.last().unwrap().open(request)
}

fn faults(apparatus: &mut dyn Apparatus, variant: VariantIndex) -> f64 {
    let gauges = apparatus.gauges(variant).unwrap();
    match gauges.iter().find(|gauge| gauge.name == "faults/page").unwrap().reading {
        Reading::Count(count) => count,
        Reading::Time(_) => panic!("a count is no time"),
    }
}

#[test]
fn half_of_free_memory_at_most_and_more_is_refused_with_figures() {
    let cases: [(u64, &str, &[u64]); 2] = [
        (1 << 40, "1,2,64", &[OF_A_WORKER, 2 * OF_A_WORKER, OF_ALL]),
        (128 << 20, "1,2", &[64 << 20, 64 << 20]),
    ];
    for (memory, threads, expected) in cases {
        with_request(memory, &[("threads", threads)], |request| {
            let cells = arrangements(&plan(request).unwrap()).into_iter();
            let bytes = cells.map(|cell| cell.parameter("bytes").unwrap().parse().unwrap());
            assert_eq!(bytes.collect::<Vec<u64>>(), expected);
        });
    }
    for (bytes, reached, remedy) in [("67108865", "64", "bytes=60000000"), ("4096", "at 1 thread", "")] {
        with_request(128 << 20, &[("bytes", bytes), ("threads", "1")], |request| match opened(request) {
            Err(Unfit::Refused(refusal)) => {
                assert!(refusal.reached.contains(reached) && refusal.remedy.contains(remedy), "{refusal:?}")
            }
            other => panic!("{bytes}: {:?}", other.map(drop)),
        });
    }
    with_request(1 << 40, &[("bytes", "1,2")], |request| {
        assert!(matches!(plan(request), Err(Unfit::Usage(_))));
    });
}

/// What a refusal advises is taken, and one that advises nothing says what is wanting.
#[test]
fn advice_about_memory_works_for_bytes_of_faults() {
    let mut advice = 0;
    for memory in [1_u64 << 20, 9 << 20, 100 << 20, 3 << 30, 1 << 40] {
        for threads in ["1", "2", "64"] {
            for bytes in [None, Some("1"), Some("5000000"), Some("99999999999999")] {
                let given = |bytes: Option<&str>, threads: &str| {
                    let mut both = vec![("threads", threads)];
                    both.extend(bytes.map(|bytes| ("bytes", bytes)));
                    let mut result = Ok(0);
                    with_request(memory, &both, |request| result = mapped(request, threads.parse().unwrap()));
                    result
                };
                let Err(unfit) = given(bytes, threads) else { continue };
                let Some((key, value)) = crate::memory::advised(&unfit) else { continue };
                let again = match &*key {
                    "bytes" => given(Some(&value), threads),
                    "threads" => given(bytes, &value),
                    other => panic!("{other}"),
                };
                again.unwrap_or_else(|unfit| panic!("{memory} {threads} {bytes:?}: {unfit:?}"));
                advice += 1;
            }
        }
    }
    assert!(advice > 10, "{advice}");
}

#[test]
fn the_headline_is_the_cell_with_the_most_threads() {
    with_request(1 << 40, &[("threads", "4,1,2")], |request| {
        let cells = arrangements(&plan(request).unwrap()).into_iter().filter(|cell| cell.headline);
        assert_eq!(cells.map(|cell| cell.label).collect::<Vec<_>>(), ["at 4 threads"]);
    });
}

#[test]
fn processes_stand_beside_threads_unless_one_kind_was_chosen() {
    const PROCESSES: [VariantIndex; 2] = [IN_ORDER_BY_PROCESSES, AT_RANDOM_BY_PROCESSES];
    // What was chosen; for 1 and for 2 workers whether threads and processes stand in the cell; how many
    // planted faults there are.
    let cases = [
        (None, [(true, false), (true, true)], 3),
        (Some("processes,threads"), [(true, false), (true, true)], 3),
        (Some("threads"), [(true, false), (true, false)], 2),
        (Some("processes"), [(false, true), (false, true)], 3),
    ];
    for (chosen, stands, planted) in cases {
        let given: Vec<(&str, &str)> =
            chosen.iter().map(|&chosen| ("as", chosen)).chain([("threads", "1,2")]).collect();
        with_request(1 << 30, &given, |request| {
            let plan = plan(request).unwrap();
            let (cells, variants) = (arrangements(&plan), plan.variants);
            for (cell, (threads, processes)) in cells.iter().zip(stands) {
                let place = format!("{chosen:?} {}", cell.label);
                assert_eq!(cell.variants.contains(&BASE_IN_ORDER), threads, "{place}");
                assert!(PROCESSES.iter().all(|by| cell.variants.contains(by) == processes), "{place}");
                let lock = (IN_ORDER_BY_PROCESSES, BASE_IN_ORDER);
                let weighed: Vec<(VariantIndex, VariantIndex)> =
                    cell.comparisons.iter().map(|comparison| (comparison.left, comparison.right)).collect();
                assert_eq!(weighed.contains(&lock), threads && processes, "{place}");
                assert_eq!(weighed.contains(&(PROCESSES[0], PROCESSES[1])), !threads, "{place}");
            }
            assert_eq!(variants.unwrap().len(), MEASURED + planted);
        });
    }
    with_request(1 << 30, &[("as", "fibres")], |request| {
        assert!(matches!(plan(request), Err(Unfit::Usage(why)) if why.contains("threads or processes")));
    });
}

#[test]
fn huge_against_base_is_first_else_processes_against_threads() {
    let first =
        |variants: &[VariantIndex]| comparisons(variants).first().map(|first| (first.left, first.right));
    let all = VariantIndex::range(0..MEASURED);
    let without = |missing: &[VariantIndex]| -> Vec<VariantIndex> {
        all.iter().copied().filter(|variant| !missing.contains(variant)).collect()
    };
    assert_eq!(first(&all), Some((HUGE_IN_ORDER, BASE_IN_ORDER)));
    let base = without(&[HUGE_IN_ORDER, HUGE_AT_RANDOM]);
    assert_eq!(first(&base), Some((IN_ORDER_BY_PROCESSES, BASE_IN_ORDER)));
    assert_eq!(comparisons(&all).len(), 7, "order against chance is asked of threads alone");
}

#[test]
fn every_process_takes_a_fault_for_each_page_of_its_own() {
    for threads in ["1", "3"] {
        with_request(256 << 20, &[("threads", threads), ("as", "processes")], |request| {
            let mut apparatus = opened(request).unwrap();
            for variant in [IN_ORDER_BY_PROCESSES, AT_RANDOM_BY_PROCESSES] {
                let faults = faults(&mut *apparatus, variant);
                assert!((1.0..1.1).contains(&faults), "{faults}");
            }
        });
    }
    with_request(256 << 20, &[("threads", "2"), ("as", "threads")], |request| {
        match opened(request).unwrap().epoch(IN_ORDER_BY_PROCESSES, 1) {
            Err(Failure::Machine(fault)) => assert!(fault.to_string().contains("as=processes"), "{fault}"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn no_epoch_is_longer_than_the_memory_lasts() {
    for memory in [64 << 20, 512 << 20, 1 << 40] {
        with_request(memory, &[("threads", "1,2")], |request| {
            for cell in arrangements(&plan(request).unwrap()) {
                let part = part(cell.parameter("bytes").unwrap().parse().unwrap(), cell.cpus.len());
                assert_eq!(cell.most_iterations, (part / span()) as u64, "{}", cell.label);
            }
        });
    }
}

#[test]
fn a_page_that_is_lost_while_it_is_timed_spoils_the_epoch() {
    with_request(256 << 20, &[("threads", "2")], |request| {
        let mut apparatus = opened(request).unwrap();
        for (index, way) in WAYS.iter().enumerate().filter(|(index, _)| *index >= MEASURED) {
            match apparatus.epoch(index.into(), 1) {
                Err(Failure::Wrong(seen)) => assert!(seen.contains("pages are there"), "{seen}"),
                other => panic!("{:?}: {other:?}", way.act),
            }
        }
        assert!(apparatus.epoch(BASE_AT_RANDOM, 1).is_ok(), "what was lost before is made good");
    });
}

#[test]
fn too_many_fresh_pages_are_a_fault_and_touching_again_is_none() {
    with_request(64 << 20, &[("threads", "1")], |request| {
        let part = part(32 << 20, 1) as u64;
        let whole = part / span() as u64;
        let mut apparatus = opened(request).unwrap();
        assert!(apparatus.epoch(BASE_IN_ORDER, whole).is_ok());
        match apparatus.epoch(BASE_IN_ORDER, whole + 1) {
            Err(Failure::Machine(fault)) => assert!(fault.to_string().contains("--set bytes"), "{fault}"),
            other => panic!("{other:?}"),
        }
        assert!(apparatus.epoch(AGAIN, whole + 1).is_ok());
    });
}

#[test]
fn base_pages_take_a_fault_each_and_those_there_hardly_any() {
    with_request(256 << 20, &[("threads", "1")], |request| {
        let mut apparatus = opened(request).unwrap();
        // A kernel that is short of memory in one piece moves pages, and who touches one meanwhile takes a
        // fault more: seen beside eight busy processes.
        const TRIES: usize = 20;
        let mut faults = |variant| {
            let counts = (0..TRIES).map(|_| faults(&mut *apparatus, variant));
            counts.fold(f64::INFINITY, f64::min)
        };
        assert!((1.0..1.1).contains(&faults(BASE_IN_ORDER)));
        assert!((1.0..1.1).contains(&faults(BASE_AT_RANDOM)));
        assert!(faults(AGAIN) < 0.1);
        if !here().unwrap().contains(&HUGE_IN_ORDER) {
            return;
        }
        let in_huge = faults(HUGE_IN_ORDER);
        match apparatus.check(HUGE_IN_ORDER) {
            Err(fault @ Fault::NoHugePages { .. }) => eprintln!("skipped: {fault}"),
            _ => assert!(in_huge < 0.6, "a huge page takes a fault, not one for each of its base pages"),
        }
    });
}

#[test]
fn published_work_fits_the_memory_and_its_findings_are_whole() {
    with_request(64 << 20, &[("threads", "2")], |request| {
        let findings = opened(request).unwrap().findings().unwrap();
        let with = |words: &str| {
            let finding = findings.iter().find(|finding| finding.sentence.contains(words));
            finding.unwrap_or_else(|| panic!("nothing says `{words}`: {findings:#?}"))
        };
        let Finding { sentence, evidence, .. } = with("The published work took");
        let pages = format!("to touch {} pages", (32 << 20) / page());
        says(sentence, &["1626092 for 257769 pages", &pages]);
        says(evidence, &["half of the memory available", "262144 faults, which is 1 GiB"]);
        with("was not tested");
        with("the kernel");
        for finding in &findings {
            assert!(finding.sentence.ends_with('.') && !finding.evidence.is_empty(), "{finding:?}");
        }
    });
}

#[test]
fn an_excess_is_named_and_what_remains_is_said() {
    let reported =
        Counts { faults: 1_626_092, touched: 257_769, hints: Some(1_300_000), ..Counts::default() };
    assert_eq!(reported.expected(), 257_769);
    let huge = Counts { faults: 520, touched: 1_024 + 8, huge: 2, of_a_huge: 512, hints: Some(0) };
    let cases: [(Counts, &[&str]); 5] = [
        (reported.clone(), &["1368323 more than expected", "1300000 by hints", "68323 that remain"]),
        (Counts { hints: Some(2_000_000), ..reported.clone() }, &["1368323 by hints", "0 that remain"]),
        (Counts { hints: None, ..reported.clone() }, &["does not count hints", "1368323 that remain"]),
        (Counts { faults: 257_769, ..reported.clone() }, &["none more than expected"]),
        (Counts { faults: 257_000, ..reported.clone() }, &["769 fewer than expected"]),
    ];
    for (counts, words) in cases {
        says(&counts.excess(), words);
    }
    assert_eq!(huge.expected(), 10);
    let counted = "520 faults to touch 1032 pages (10 faults were to be expected, as 1024 pages lie";
    says(&sentence(&huge), &[counted, "52.0x", "6.31x"]);
}

/// What the author saw, as samples: 98.30 % on the branch after `lr.d`.
#[test]
fn the_symbol_that_holds_the_time_is_named_with_its_instruction() {
    let symbols = Symbols::parse(
        "ffffffff80000000 T _text\nffffffff80001000 T clear_page\nffffffff80002000 T down_read_trylock\n",
    )
    .unwrap();
    let sampled = Sampled {
        kernel: [(0xffff_ffff_8000_2044, 96), (0xffff_ffff_8000_2048, 1), (0xffff_ffff_8000_1004, 2)].into(),
        in_kernel: 99,
        elsewhere: 1,
        lost: 0,
        event: "cycles",
    };
    let code = |address| {
        assert_eq!(address, 0xffff_ffff_8000_2044);
        // lr.d a2,(s1); bne a2,a5
        let before = 0x1004_b62f_u32.to_le_bytes().to_vec();
        Ok(Code { before, from: 0x00f6_1063_u32.to_le_bytes().to_vec(), source: "a test".into() })
    };
    let Finding { sentence, evidence, .. } = in_words(&sampled, &symbols, 64, "riscv64", code);
    let held = "`down_read_trylock` held the largest share: 97.0 %";
    says(&sentence, &["99.0 % of the time was the kernel's", held]);
    says(&evidence, &["down_read_trylock+0x44 alone 96.0 %, just after `lr.d`"]);
    let unread = in_words(&sampled, &symbols, 64, "riscv64", |_| Err("no such file".into()));
    says(&unread.evidence, &["cannot be read (no such file)"]);
    let none = in_words(&Sampled::default(), &symbols, 1, "riscv64", |_| Err(String::new()));
    says(&none.sentence, &["no sample"]);
}

#[test]
fn published_figures_are_those_of_the_source() {
    assert_eq!(published_figure("page_faults_counted"), 1_626_092.0);
    let published = published();
    let what = &published[0].what;
    assert!(what.contains("1626092 page faults for 257769 pages, 6.31 a page"), "{what}");
    assert!(published.iter().all(|published| published.cell == "at 64 threads"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn windows_lie_in_their_parts_and_orders_hold_every_page_once(
        layout: u32, spans in 1_usize..8, worker in 0_usize..2,
    ) {
        with_request(64 << 20, &[("threads", "2")], |request| {
            let part = 8 * span();
            let mut touching = Touching::of(request, &[request.cpus[0]; 2], part, false).unwrap();
            touching.layout = layout;
            let window = touching.window(spans * span());
            let range = window.of(worker);
            assert!(range.start >= worker * part && range.end <= (worker + 1) * part);
            assert_eq!(range.start % span(), 0);
            let mut order = touching.order(Act::AtRandom, window.pages).to_vec();
            order.sort_unstable();
            assert!(order.into_iter().eq(0..window.pages as u32));
        });
    }
}

/// It stands alone, and no value is taken for another.
#[test]
fn the_remedy_is_tried_only_if_it_is_asked_for_and_then_alone() {
    for given in [&[][..], &[("remedy", "no")]] {
        with_request(1 << 30, given, |request| {
            let plan = plan(request).unwrap();
            assert!(!plan.cells.is_empty() && plan.look.is_none());
        });
    }
    with_request(1 << 30, &[("remedy", "yes")], |request| {
        let plan = plan(request).unwrap();
        assert!(plan.cells.is_empty() && plan.look.is_some());
    });
    for given in [&[("remedy", "please")][..], &[("remedy", "yes"), ("threads", "1")]] {
        with_request(1 << 30, given, |request| assert!(matches!(plan(request), Err(Unfit::Usage(_)))));
    }
}
