//! What holds of every contract, and that what is broken in a contract or by an outcome is seen.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;

use super::contracts::memcpy::{self, Copied, Regions};
use super::contracts::sort::{self, People, Sorted};
use super::ending::{Broken, Ending, How, judge};
use super::inputs::Inputs;
use super::*;
use crate::rehearsal::usage;

const WITHIN: Duration = Duration::from_secs(1);

fn nothing() -> Request {
    Request {
        libraries: Vec::new(),
        specification: None,
        seed: 1,
        cases: 0,
        within: None,
        program: Vec::new(),
        output_aside: false,
    }
}

#[test]
fn only_the_first_specification_of_a_contract_has_no_fault() {
    for contract in CONTRACTS {
        let specifications = contract.described(None).unwrap().specifications;
        assert!(specifications.len() > 1, "{} ships no altered one", contract.name());
        for (place, Offered { name, .. }) in specifications.into_iter().enumerate() {
            let request = Request { specification: Some(name.clone()), ..nothing() };
            let blame = contract.examine(&request, &|_| {}).unwrap();
            assert_eq!(blame.findings.len(), usize::from(place > 0), "{} {name}", contract.name());
            assert!(blame.searched.unwrap().inputs > 50, "{} {name}", contract.name());
        }
    }
}

#[test]
fn the_contracts_are_the_files_of_their_folder() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/blame/contracts");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|it| it.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(files, CONTRACTS.iter().map(|contract| contract.name().to_owned()).collect());
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    assert!(usage(contract("qsort").map(|_| ())).contains("sort, memcpy"));
    let message = usage(contract("sort").unwrap().described(Some("iso")));
    assert!(message.contains("ascending, descending, strict, undefined"), "{message}");
}

/// What the specification as published asks for, computed by the standard library.
fn sorted(people: &People) -> Sorted {
    let failed = people.len < 1 || people.ages.iter().any(|&age| age < 0);
    let mut places: Vec<i32> = (0..people.ages.len() as i32).collect();
    if !failed {
        places.sort_by_key(|&person| people.ages[person as usize]);
    }
    Sorted { returned: failed.into(), places, altered: false, outside: false }
}

fn copied(regions: &Regions) -> Copied {
    Copied { returned: true, outside: false, from: regions.bytes.clone(), to: regions.bytes.clone() }
}

/// A contract holds together: what is right is admitted and wanted, inputs come back from the wire, and every
/// step to a smaller input makes `size` less, so that there is an end of them.
fn holds_together<I: Input, O: Outcome>(
    contract: &'static Contract<I, O>,
    input: &I,
    right: &O,
    size: impl Fn(&I) -> u64,
) {
    assert!((contract.wanted)(input, right), "{input:?}");
    assert!(contract.specifications[0].admits(input, right), "{input:?}");
    assert_eq!((contract.decode_input)(&(contract.encode)(input)).as_ref(), Some(input));
    for smaller in (contract.smaller)(input) {
        assert!(size(&smaller) < size(input), "{input:?} is made smaller: {smaller:?}");
    }
}

fn size_of_people(people: &People) -> u64 {
    let age = |age: &i32| (1 << 33) + u64::from(age.unsigned_abs());
    people.ages.iter().map(age).sum::<u64>() + u64::from(people.len.unsigned_abs())
}

fn size_of_regions(regions: &Regions) -> u64 {
    let gap = regions.gap.map_or(0, |gap| 1 + u64::from(gap.unsigned_abs()));
    regions.bytes.iter().map(|&byte| 256 + u64::from(byte)).sum::<u64>() + gap
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_right_sort_is_admitted_and_every_departure_is_not(
        people in (sort::CONTRACT.any)(),
    ) {
        let right = sorted(&people);
        holds_together(&sort::CONTRACT, &people, &right, size_of_people);
        let specification = &sort::CONTRACT.specifications[0];
        let broken = |sorted: Sorted| {
            let ending = Ending::Returned { outcome: sorted, printed: 0 };
            let broken = judge(specification, &people, &ending, WITHIN);
            broken.map_or("nothing".into(), |broken| broken.deed(specification))
        };
        prop_assert_eq!(broken(right.clone()), "nothing");
        let misreported = Sorted { returned: 1 - right.returned, ..right.clone() };
        prop_assert_ne!(broken(misreported), "nothing");
        prop_assert_eq!(broken(Sorted { outside: true, ..right.clone() }), "writes beside a[]");
        if right.returned == 0 {
            let altered = Sorted { altered: true, ..right.clone() };
            prop_assert_eq!(broken(altered), "alters a person");
            for stranger in [-1, -2, right.places[0]] {
                let mut lost = right.clone();
                lost.places[people.ages.len() - 1] = stranger;
                if lost != right {
                    prop_assert_eq!(broken(lost), "loses a person");
                }
            }
            let mut reversed = right.clone();
            reversed.places.reverse();
            let (youngest, oldest) = (people.ages.iter().min(), people.ages.iter().max());
            prop_assert_eq!(broken(reversed) != "nothing", youngest != oldest);
        }
    }

    #[test]
    fn a_right_copy_is_admitted_and_every_departure_is_not(
        regions in (memcpy::CONTRACT.any)(),
    ) {
        let right = copied(&regions);
        holds_together(&memcpy::CONTRACT, &regions, &right, size_of_regions);
        let specification = &memcpy::CONTRACT.specifications[0];
        let broken = |copied: Copied| {
            let ending = Ending::Returned { outcome: copied, printed: 0 };
            judge(specification, &regions, &ending, WITHIN).is_some()
        };
        // Of regions that overlap nothing is promised.
        let promised = memcpy::CONTRACT.precondition.iter().all(|condition| (condition.holds)(&regions));
        prop_assert_eq!(broken(Copied { returned: false, ..right.clone() }), promised);
        prop_assert_eq!(broken(Copied { outside: true, ..right.clone() }), promised);
        for place in 0..regions.bytes.len() {
            let (mut from, mut to) = (right.clone(), right.clone());
            from.from[place] ^= 1;
            to.to[place] ^= 1;
            prop_assert_eq!((broken(from), broken(to)), (promised, promised));
        }
    }

    #[test]
    fn an_input_is_made_smaller_until_no_step_shows_it_any_more(
        seed in any::<u64>(),
        least in 11..1_000_000,
    ) {
        let inputs = Inputs::new(&sort::CONTRACT, seed, 60);
        let shows = |people: &People| people.ages.iter().any(|&age| age >= least);
        let place = inputs.all.iter().position(shows);
        prop_assume!(place.is_some());
        let smallest = inputs.shrink(place.unwrap(), |people| Ok(shows(people).then_some(()))).unwrap();
        prop_assert_eq!(smallest.map(|(people, ())| people.ages), Some(vec![least]));
    }
}

#[test]
fn the_same_seed_gives_the_same_inputs_and_another_one_others() {
    let inputs = |seed| Inputs::new(&sort::CONTRACT, seed, 50).all;
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
    let inputs = Inputs::new(&sort::CONTRACT, 1, 50);
    let first = inputs.all.len() - 50;
    let never = inputs.shrink(first, |_| Ok(None::<()>)).unwrap();
    assert_eq!(never, None, "what does not show alone has no smallest input");
    let kept = inputs.shrink(first, |it| Ok((*it == inputs.all[first]).then_some(()))).unwrap();
    let again = kept.map(|(input, ())| input);
    assert_eq!(again.as_ref(), inputs.all.get(first), "the input made again is the one that was tried");
}

#[test]
fn what_does_not_return_breaks_the_line_that_promises_it() {
    let specification = &sort::CONTRACT.specifications[0];
    let empty = People { ages: Vec::new(), len: 0, partly_seen: false };
    let clause = |ending: Ending<Sorted>| {
        let broken = judge(specification, &empty, &ending, WITHIN).unwrap();
        (specification.clauses[broken.clause].text, broken.deed(specification))
    };
    let short = "1 is returned: len is below 1";
    assert_eq!(clause(Ending::Late), (short, "does not return within 1 s".into()));
    assert_eq!(clause(Ending::Exited(0)), (short, "ends the process with status 0".into()));
    assert_eq!(clause(Ending::Signalled(11)), (short, "is ended by signal 11 (SIGSEGV)".into()));
    assert_eq!(
        clause(Ending::Garbled),
        (short, "ends the process with status 101, or changes memory or files of its caller".into())
    );
    let (memory, deed) = clause(Ending::Trespassed("behind a[]".into()));
    assert!(memory.contains("no memory is touched") && deed == "touches memory just behind a[]", "{memory}");
    // What is undefined may end as it likes.
    let undefined = &memcpy::CONTRACT.specifications[0];
    let overlapping = Regions { n: 2, bytes: vec![0, 1], gap: Some(1) };
    assert_eq!(judge(undefined, &overlapping, &Ending::Signalled(11), WITHIN), None);
    let apart = Regions { gap: None, ..overlapping };
    let broken = judge(undefined, &apart, &Ending::Late, WITHIN);
    assert!(matches!(broken, Some(Broken { clause: 0, how: How::Ended(_) })));
}

#[test]
fn what_is_no_outcome_is_none() {
    let people = People { ages: vec![1, 2], len: 2, partly_seen: false };
    let whole = wire::Writer::default().words(&[0, 0, 0, 1, 0]).0;
    let decoded = (sort::CONTRACT.decode)(&people, &whole);
    assert_eq!(decoded.map(|sorted| sorted.places), Some(vec![1, 0]));
    for size in 0..whole.len() {
        assert_eq!((sort::CONTRACT.decode)(&people, &whole[..size]), None);
    }
    assert_eq!((sort::CONTRACT.decode)(&people, &[whole.as_slice(), &[0]].concat()), None);
    assert_eq!((sort::CONTRACT.decode_input)(&wire::Writer::default().words(&[2, 0, i32::MAX]).0), None);
}
