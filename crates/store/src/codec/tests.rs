//! Every codec returns what it was given, and damage is an error or another value, never a panic.

use proptest::prelude::*;

use super::*;

/// Columns of every shape: random words, small numbers, lines, and values on a grid with outliers.
fn column() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(any::<u64>(), 0..200),
        prop::collection::vec(0u64..4, 0..400),
        (any::<u64>(), any::<u64>(), 0usize..200).prop_map(|(first, step, n)| (0..n as u64)
            .map(|i| first.wrapping_add(i.wrapping_mul(step)))
            .collect()),
        (1.0f64..2e4, 1u64..300_000, prop::collection::vec(0u64..5_000, 0..300), any::<bool>()).prop_map(
            |(tick, base, steps, cut)| {
                let place =
                    |k: u64| if cut { (k as f64 * tick) as u64 } else { (k as f64 * tick).round() as u64 };
                steps.into_iter().map(|k| place(base + k) + u64::from(k % 97 == 0) * k).collect()
            }
        ),
        prop::collection::vec(
            prop_oneof![Just(0), Just(u64::MAX), Just(1 << 53), Just((1 << 53) + 1)],
            0..100
        ),
    ]
}

fn kinds_of(values: &[u64], modulus: u32) -> Vec<u32> {
    (0..values.len() as u32).map(|index| index * 7 % modulus.max(1)).collect()
}

fn every_encoding(values: &[u64], kinds: &[u32]) -> Vec<(Codec, Vec<u8>)> {
    let mut all = vec![
        (Codec::Plain, encode_plain(values)),
        (Codec::Delta, encode_delta(values)),
        (Codec::Grid, encode_grid(values, kinds)),
        pack(values, kinds),
    ];
    all.extend(encode_line(values).map(|bytes| (Codec::Line, bytes)));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_column_comes_back_through_every_codec(values in column(), modulus in 1u32..9) {
        let kinds = kinds_of(&values, modulus);
        for (codec, bytes) in every_encoding(&values, &kinds) {
            let back = unpack(codec, &bytes, values.len(), &kinds);
            prop_assert_eq!(back.as_ref(), Ok(&values), "{:?}", codec);
        }
    }

    #[test]
    fn pack_is_never_larger_than_plain(values in column()) {
        let kinds = kinds_of(&values, 2);
        prop_assert!(pack(&values, &kinds).1.len() <= encode_plain(&values).len().max(20));
    }

    #[test]
    fn damaged_bytes_never_panic(
        values in column(),
        at in any::<prop::sample::Index>(),
        bit in 0u32..8,
        cut in any::<prop::sample::Index>(),
    ) {
        let kinds = kinds_of(&values, 3);
        for (codec, bytes) in every_encoding(&values, &kinds) {
            if bytes.is_empty() {
                continue;
            }
            let mut flipped = bytes.clone();
            flipped[at.index(bytes.len())] ^= 1 << bit;
            if let Ok(back) = unpack(codec, &flipped, values.len(), &kinds) {
                prop_assert_eq!(back.len(), values.len());
            }
            prop_assert!(unpack(codec, &bytes[..cut.index(bytes.len())], values.len(), &kinds).is_err());
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0usize..300) {
        let kinds = vec![0; count];
        for codec in Codec::ALL {
            if let Ok(back) = unpack(codec, &bytes, count, &kinds) {
                prop_assert_eq!(back.len(), count);
            }
        }
    }
}

#[test]
fn tags_name_their_codecs() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_tag(codec.tag()), Some(codec));
    }
    assert_eq!(Codec::from_tag(4), None);
}

#[test]
fn each_codec_is_the_smallest_for_some_column() {
    let chosen = |values: &[u64]| pack(values, &kinds_of(values, 2)).0;
    assert_eq!(chosen(&[1 << 60, 3]), Codec::Line);
    assert_eq!(chosen(&[u64::MAX / 3, 1 << 62, u64::MAX / 7 * 5]), Codec::Plain);
    assert_eq!(chosen(&(0..1_000).map(|i| i / 4).collect::<Vec<_>>()), Codec::Delta);
    let timings: Vec<u64> =
        (0..1_000u64).map(|i| ((260_000 + i * i * 31 % 800) as f64 * 385.14) as u64).collect();
    assert_eq!(chosen(&timings), Codec::Grid);
}
