//! Figures made up, and what is said of them.

use super::super::device::ALGORITHMS;
use super::*;
use crate::rehearsal::says;

fn algorithm(name: &str) -> Algorithm {
    ALGORITHMS.into_iter().find(|algorithm| algorithm.name == name).unwrap()
}

#[test]
fn parts_make_the_whole_and_disturbed_reads_are_left_out() {
    let times = DriverTimes { allocate: 200, compute: 1_000, copy: 50 };
    let mut reads = vec![(1_530.0, times); 18];
    reads.push((90_000.0, DriverTimes { compute: 80_000, ..times }));
    reads.push((70_000.0, DriverTimes { copy: 60_000, ..times }));
    let expected = Split { reads: 20, whole: 1_500.0, allocate: 200.0, compute: 1_000.0, copy: 50.0 };
    for unit in [Unit::Nanoseconds, Unit::Instructions] {
        assert_eq!(Split::of(reads.clone(), 30.0, unit), Some(expected));
    }
    assert_eq!(expected.call(), 250.0);
    // A coarse clock may give the parts more than the whole.
    assert_eq!(Split { whole: 100.0, compute: 200.0, ..expected }.call(), 0.0);
    assert_eq!(Split::of(Vec::new(), 0.0, Unit::Nanoseconds), None);
}

/// A tick in two of three reads: of instructions the third is told, and of times the one in the middle.
#[test]
fn of_few_reads_those_with_a_tick_do_not_count() {
    let times = DriverTimes { allocate: 0, compute: 1_000, copy: 0 };
    let reads =
        || vec![(9_000.0, DriverTimes { compute: 2_000, ..times }), (1_125.0, times), (6_016.0, times)];
    let whole = |unit| Split::of(reads(), 0.0, unit).map(|split| (split.whole, split.compute));
    assert_eq!(whole(Unit::Instructions), Some((1_125.0, 1_000.0)));
    assert_eq!(whole(Unit::Nanoseconds), Some((6_016.0, 1_000.0)));
}

/// After it a driver says what the last read was; each is warm, and no algorithm is always the first.
#[test]
fn algorithms_read_in_turns() {
    use std::cell::RefCell;

    struct Noted<'a>(usize, &'a RefCell<Vec<usize>>);
    impl NumberSource for Noted<'_> {
        fn number(&self, _: u64, _: &mut [u8]) -> std::io::Result<usize> {
            self.1.borrow_mut().push(self.0);
            Ok(0)
        }
    }
    let (noted, timed) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let readers: Vec<_> =
        ALGORITHMS[..3].iter().enumerate().map(|(at, it)| (*it, Noted(at, &noted))).collect();
    let last_read = |_| {
        timed.borrow_mut().extend(noted.borrow().last().copied());
        Ok(Some(DriverTimes::default()))
    };
    let splits = splits(last_read, &readers, 99, Clock::kernel(), Unit::Nanoseconds).unwrap();
    assert!(
        splits.len() == 3 && splits.iter().all(|(_, split)| split.reads >= READS.0 as usize),
        "{splits:?}"
    );
    // Each is asked for often enough that the first rounds are whole.
    assert_eq!(timed.borrow()[..9], [0, 1, 2, 1, 2, 0, 2, 0, 1]);
}

#[test]
fn a_split_has_the_published_one_beside_it() {
    let ours = Split { reads: 180, whole: 1_500.0, allocate: 200.0, compute: 1_000.0, copy: 50.0 };
    let published = Split { reads: 90, whole: 45_000.0, allocate: 0.0, compute: 44_000.0, copy: 60.0 };
    let splits = [(algorithm("doubling"), ours), (algorithm("decimal"), published)];
    let finding = sentences::split(99, &splits, Unit::Instructions).unwrap();
    assert_eq!(
        finding.sentence,
        "A read of F(99) by doubling takes 1500 instructions, emulated: 1000 to compute, 200 to allocate, 50 to copy, and \
         250 for the rest (the system call, the driver's lock, giving memory back); the published methods: decimal 45000, 30.0x."
    );
    says(&finding.evidence, &["decimal: compute 44000, allocate 0, copy 60, rest 940 (90 reads)"]);
    assert!(finding.confidence.contains("say nothing about time"));
    let finding = sentences::split(99, &splits[..1], Unit::Nanoseconds).unwrap();
    says(&finding.sentence, &["takes 1.50 µs: 1.00 µs to compute"]);
    assert!(finding.sentence.ends_with("giving memory back)."), "{finding:?}");
    let coarse = Split { whole: 1_200.0, ..ours };
    let finding = sentences::split(99, &[(algorithm("doubling"), coarse)], Unit::Nanoseconds).unwrap();
    assert!(finding.sentence.ends_with("and a rest that is too short for this clock."), "{finding:?}");
    assert_eq!(sentences::split(99, &[], Unit::Nanoseconds), None);
}

#[test]
fn allocations_are_summed_and_frees_are_not() {
    let events = |kmalloc, cache, kfree| {
        vec![("kmem/kmalloc", kmalloc), ("kmem/kmem_cache_alloc", cache), ("kmem/kfree", kfree)]
    };
    let counted = vec![
        (algorithm("doubling"), 99, events(1.0, 0.0, 1.0)),
        (algorithm("doubling"), 1_000, events(1.0, 0.0, 1.0)),
        (algorithm("decimal"), 99, events(310.0, 2.5, 310.0)),
        (algorithm("decimal"), 1_000, events(400.0, 0.0, 400.0)),
    ];
    let finding = sentences::allocations(&counted).unwrap();
    assert_eq!(sentences::allocations(&Vec::new()), None);
    assert_eq!(finding.sentence, "Allocations in a read of F(99): 1 by doubling, 312.50 by decimal.");
    says(&finding.evidence, &["F(1000): 1 by doubling, 400 by decimal; events of F(99), "]);
    says(&finding.evidence, &["decimal: kmalloc 310 kmem_cache_alloc 2.50 kfree 310"]);
}

#[test]
fn the_price_of_tracing_is_told_with_its_events() {
    let figures = Traced { plain: 1_000.0, traced: 7_100.0, events: 400.0, lost: 3 };
    let finding = sentences::traced(99, &[(algorithm("decimal"), figures)], Unit::Instructions);
    says(&finding.sentence, &["takes in instructions, emulated, 7.10x by decimal (400 events, 15 each) of"]);
    says(&finding.evidence, &["decimal: 1000 and 7100, 3 events dropped"]);
    assert!(finding.confidence.contains("Another tracer has another price"));
    let nothing = Traced { events: 0.0, ..figures };
    let finding = sentences::traced(99, &[(algorithm("decimal"), nothing)], Unit::Nanoseconds);
    says(&finding.sentence, &["takes 7.10x by decimal (0 events) of"]);
}

#[test]
fn what_could_not_be_told_is_said_with_what_helps() {
    let finding = sentences::no_times(&[0.412, 0.398]);
    says(&finding.evidence, &["0.412 and 0.398 ns"]);
    says(&finding.evidence, &["--count-instructions"]);
    let finding = sentences::only_the_chosen(Some(&algorithm("iterative")));
    assert!(finding.sentence.starts_with("Only iterative was asked"), "{finding:?}");
    assert!(sentences::not_recorded("closed").sentence.starts_with("What tracing costs"));
    let finding = sentences::not_counted(&Uncounted::NotMounted.to_string());
    says(&finding.evidence, &["mount -t tracefs"]);
}

#[test]
fn samples_are_folded_by_function_and_both_published_are_named() {
    use tenbin_metal::sampling::Sampled;
    use tenbin_metal::symbols::Symbols;

    let symbols = Symbols::parse(
        "ffffffff81000000 T _text\nffffffff81000100 T memset_orig\nffffffff81000200 t other\nffffffffc0000000 t sized_multiply\t[fibdrv]\n",
    )
    .unwrap();
    let kernel = [(0xffff_ffff_8100_0110, 20), (0xffff_ffff_8100_0120, 10), (0xffff_ffff_c000_0010, 60)];
    let sampled =
        Sampled { kernel: kernel.into(), in_kernel: 90, elsewhere: 10, lost: 7, event: "cpu-clock" };
    let shares = shares::of(&sampled, &symbols);
    assert_eq!(
        shares.functions,
        [("sized_multiply [fibdrv]".to_owned(), 60), ("memset_orig".to_owned(), 30)]
    );
    let finding = sentences::shares(99, Ok(shares), Unit::Instructions);
    says(
        &finding.sentence,
        &["60.0 % of the samples fell into functions that multiply and 30.0 % into memset"],
    );
    let functions = "sized_multiply [fibdrv] 60.0 %, memset_orig 30.0 %";
    says(&finding.evidence, &["100 samples by cpu-clock, 7 dropped: ", functions]);
    assert!(finding.sentence.ends_with("which instructions neither confirm nor refute."), "{finding:?}");
    let of = |shares| sentences::shares(99, shares, Unit::Nanoseconds);
    says(&of(Err("closed".into())).sentence, &["was not looked at"]);
    says(&of(Ok(shares::Shares::default())).evidence, &["no sample"]);
}

#[test]
fn only_memset_clears_and_only_the_driver_multiplies() {
    for name in ["memset", "__memset", "__pi_memset", "__pi___memset", "memset_orig", "memset_erms"] {
        assert!(shares::clears(name), "{name}");
    }
    for name in [
        "clear_page_erms",
        "memset_io",
        "syscall_exit_to_user_mode_clear",
        "memset64",
        "bitmap_clear",
        "a memset",
    ] {
        assert!(!shares::clears(name), "{name}");
    }
    assert!(shares::multiplies("sized_multiply [fibdrv]") && shares::multiplies("multiply [fibdrv]"));
    assert!(!["ec_multiply", "xor_multi [raid]", "add [fibdrv]"].into_iter().any(shares::multiplies));
}
