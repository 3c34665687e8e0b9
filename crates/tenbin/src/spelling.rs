//! Words that are spelt wrong.

use tenbin_model::Order;

/// The names that may have been meant by `word`, nearest first: those that one mistake in three letters turns
/// into it, or one in a short word.
pub fn near(word: &str, names: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1))
        .collect();
    near.order();
    near.into_iter().map(|(_, name)| name.clone()).collect()
}
