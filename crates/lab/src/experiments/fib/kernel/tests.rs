//! Algorithms in user space stand in for the driver: the comparison sees what is right and what is not.

use tenbin_bignum::published::Start;

use super::super::user::Method;
use super::*;

/// A driver in user space, with the writing of one algorithm.
#[derive(Clone)]
pub(in crate::experiments::fib) struct InUserSpace(Base);

impl InUserSpace {
    pub(in crate::experiments::fib) fn every() -> Vec<(Algorithm, Self)> {
        ALGORITHMS.into_iter().map(|algorithm| (algorithm, Self(algorithm.base))).collect()
    }
}

impl NumberSource for InUserSpace {
    fn number(&self, n: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let method = match self.0 {
            Base::Words => Method::Doubling,
            Base::Billions => Method::Billions(Start::Corrected),
        };
        let bytes = method.repeat(n, 1).unwrap().bytes();
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

/// One whose numbers are spoilt at a place.
struct Spoilt<F: Fn(&mut Vec<u8>)>(InUserSpace, u64, F);

impl<F: Fn(&mut Vec<u8>)> NumberSource for Spoilt<F> {
    fn number(&self, n: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.number(n, buffer)?;
        if n != self.1 {
            return Ok(length);
        }
        let mut bytes = buffer[..length].to_vec();
        self.2(&mut bytes);
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

#[test]
fn what_is_right_is_counted_and_the_number_before_is_seen() {
    let larger = samples(3, 301..3_000, 30);
    let truth = Truth::of(300, &larger, 1_000);
    for (algorithm, source) in InUserSpace::every() {
        let met = if algorithm.slow { 301 + SLOW_SAMPLES } else { 301 + 31 };
        assert_eq!(
            held(&source, algorithm, &truth, |place| place).unwrap(),
            Seen::Met(format!("{met} numbers equal those computed in user space")),
            "{}",
            algorithm.name
        );
        let seen = held(&source, algorithm, &truth, |place| one_before(place, 100)).unwrap();
        assert_eq!(seen, Seen::Broken("F(100) is not what user space computes".into()), "{}", algorithm.name);
    }
}

/// A bit, a digit that is none, a zero in front, a number cut short: at a small place and at a large one.
#[test]
fn whatever_is_wrong_with_one_number_is_seen() {
    let truth = Truth::of(200, &[700], 0);
    type Spoil = fn(&mut Vec<u8>);
    let spoil: [(&str, Spoil); 5] = [
        ("a bit", |bytes| bytes[0] ^= 1),
        ("zeros in front", |bytes| bytes.extend([0; 8])),
        ("cut short", |bytes| bytes.truncate(bytes.len() - 4)),
        ("a byte less", |bytes| bytes.truncate(bytes.len() - 1)),
        ("a digit too large", |bytes| bytes[..4].fill(0xff)),
    ];
    for (algorithm, source) in InUserSpace::every() {
        for place in [77, 700] {
            for (what, spoil) in spoil {
                let source = Spoilt(source.clone(), place, spoil);
                let seen = held(&source, algorithm, &truth, |place| place).unwrap();
                let broken = format!("F({place}) is not what user space computes");
                assert_eq!(seen, Seen::Broken(broken), "{}: {what}", algorithm.name);
            }
        }
    }
}

/// What a machine without the module is told stands in `crates/tenbin/tests/fib.rs`.
#[test]
fn a_cell_weighs_what_is_there_and_plants_a_fault() {
    assert_eq!(variants().len(), ALGORITHMS.len() + 1);
    for (left, right) in COMPARISONS {
        assert!(index(left).is_some() && index(right).is_some() && left != right, "{left} {right}");
    }
    assert_eq!([0, 1, 99, 100, 2_000].map(|n| one_before(n, 100)), [0, 1, 99, 99, 1_999]);
}

/// Whatever max_n it was loaded with: else the program would accuse itself of a check that sees nothing.
#[test]
fn the_planted_fault_is_seen_however_small_the_driver() {
    for largest in (LEAST_MAX_N..=120).chain([2_000]) {
        assert!(enough(largest).is_ok());
        let truth = Truth::of(DENSE.min(largest), &larger(1, DENSE.min(largest), largest, SAMPLES), largest);
        let every = planted_every(largest);
        for (algorithm, source) in InUserSpace::every() {
            let seen = held(&source, algorithm, &truth, |place| one_before(place, every)).unwrap();
            assert_eq!(
                seen,
                Seen::Broken(format!("F({every}) is not what user space computes")),
                "max_n={largest}"
            );
        }
    }
    for largest in 0..LEAST_MAX_N {
        assert!(matches!(enough(largest), Err(Unfit::Refused(refusal)) if refusal.remedy.contains("max_n")));
    }
}

/// The cells and what is found beside them are of the same places.
#[test]
fn places_are_those_that_were_given_or_that_a_driver_has() {
    use crate::rehearsal::{TestRequest, settings};

    let of = |given: Option<&str>, effort, largest| {
        let given: Vec<(&str, &str)> = given.map(|text| ("n", text)).into_iter().collect();
        let settings = settings(&(crate::experiments::fib::EXPERIMENT.describe)(), &given).unwrap();
        let test = TestRequest { effort, settings, ..TestRequest::default() };
        asked(&test.request(), largest).ok()
    };
    assert_eq!(of(None, Effort::Normal, 100_000), Some(PLACES.to_vec()));
    assert_eq!(of(None, Effort::Normal, 1_500), Some(vec![99, 1_000]));
    assert_eq!(of(None, Effort::Normal, 50), Some(vec![50]));
    assert_eq!(of(None, Effort::Quick, 100_000), Some(vec![HEADLINE]));
    assert_eq!(of(None, Effort::Quick, 50), Some(vec![50]));
    assert_eq!(of(Some("20000"), Effort::Quick, 100_000), Some(vec![20_000]));
    assert_eq!(of(Some("51"), Effort::Normal, 50), None);
}
