//! Sorting, in little code.
//!
//! The standard library's stable sort is compiled anew for every type and key, about 5 kB each time, and so
//! is collecting into a [`BTreeMap`] or a [`BTreeSet`], which sorts first. Here places are sorted, by one
//! piece of code for all types; nothing is sorted here that is long enough for the difference to be felt.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorting in place; what compares equal stays as it stood.
pub trait Order<T> {
    /// Sorts, the least first.
    fn order(&mut self)
    where
        T: Ord;

    /// Sorts by `compare`.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key, made anew for every comparison.
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Order<T> for [T] {
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }

    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let from = places(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        move_in(from, &mut |one, other| self.swap(one, other));
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|one, other| key(one).cmp(&key(other)));
    }
}

/// The places of `count` items in their order: the first is where the least one stands.
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&one, &other| compare(one, other));
    places
}

/// Moves the item that stands at `from[place]` to `place`, for every place, along the cycles of that
/// permutation.
fn move_in(mut from: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for first in 0..from.len() {
        let mut place = first;
        while from[place] != first {
            let next = std::mem::replace(&mut from[place], place);
            swap(place, next);
            place = next;
        }
        from[place] = place;
    }
}

/// A map of the pairs; of two with one key, the last.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// A set of the items.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// The items in ascending order, each once.
pub fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.order();
    items.dedup();
    items
}

/// The values of each key; keys stand in the order in which they come first.
pub fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Each item once, where it comes first.
pub fn firsts<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(items.into_iter().map(|item| (item, ()))).into_iter().map(|(item, _)| item).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As the standard library sorts, equal ones in the order in which they stood.
        #[test]
        fn sorts_as_the_standard_library_does(numbers in prop::collection::vec(0_u8..20, 0..200)) {
            let mut items: Vec<(u8, usize)> = numbers.iter().copied().zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|&(number, _)| std::cmp::Reverse(number));
            items.order_by_key(|&(number, _)| std::cmp::Reverse(number));
            prop_assert_eq!(&items, &expected);
            expected.sort();
            items.order();
            prop_assert_eq!(items, expected);
        }
    }

    #[test]
    fn the_last_pair_of_a_key_stays() {
        assert_eq!(map([(2, 'a'), (1, 'b'), (2, 'c')]), BTreeMap::from([(1, 'b'), (2, 'c')]));
        assert_eq!(set([2, 1, 2]), BTreeSet::from([1, 2]));
    }

    #[test]
    fn what_comes_twice_stands_once() {
        assert_eq!((distinct([3, 1, 3, 2]), firsts([3, 1, 3, 2])), (vec![1, 2, 3], vec![3, 1, 2]));
        assert_eq!(grouped([(2, 'a'), (1, 'b'), (2, 'c')]), [(2, vec!['a', 'c']), (1, vec!['b'])]);
    }
}
