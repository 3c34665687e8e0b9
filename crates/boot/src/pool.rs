//! Several questions at a time: as many as there are workers, each with its share of the memory.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// Bytes of memory that no question can do without.
pub(crate) const LEAST: u64 = 16 << 20;

/// What the answers may cost, and the world outside, in which time passes and somebody may want an end.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Bytes of memory, for all together.
    pub bytes: u64,
    /// Seconds, for each.
    pub seconds: u64,
    /// How many questions are worked on at a time, at most.
    pub workers: usize,
    /// The time since some moment.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// Whether all of it is to end.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Called now and then with how many are answered, of how many, and how many states one of the others has
    /// so far.
    pub progress: &'a (dyn Fn(usize, usize, u64) + Sync),
}

impl<'a> Means<'a> {
    /// What tells the time since now.
    pub(crate) fn timer(&self) -> impl Fn() -> Duration + Sync + use<'a> {
        let (clock, begun) = (self.clock, (self.clock)());
        move || clock().saturating_sub(begun)
    }

    /// Whether one that has taken so long is to end.
    pub(crate) fn is_over(&self, time: Duration) -> bool {
        time >= Duration::from_secs(self.seconds) || (self.interrupted)()
    }
}

/// What a question may take when its turn comes.
pub(crate) struct Turn<'a> {
    pub(crate) bytes: u64,
    /// How many others are answered.
    pub(crate) answered: &'a (dyn Fn() -> usize + Sync),
}

/// Answers all questions and keeps their order: first side by side; then, alone and with all of the memory,
/// those that a share was too little for. So what is refused does not depend on how many workers there are.
pub(crate) fn all<Q: Sync, A: Send>(
    questions: &[Q],
    means: &Means<'_>,
    answer: impl Fn(&Q, &Turn<'_>) -> A + Sync,
    needs_more: impl Fn(&A) -> bool,
) -> Vec<A> {
    let shares = usize::try_from(means.bytes / LEAST).unwrap_or(usize::MAX);
    let workers = means.workers.min(questions.len()).min(shares).max(1);
    let share = means.bytes / workers as u64;
    let answers = Mutex::new(BTreeMap::new());
    let open = Mutex::new(questions.iter().enumerate());
    let next = || open.lock().ok()?.next();
    let answered = || answers.lock().map_or(0, |answers| answers.len());
    let work = || {
        while let Some((index, question)) = next() {
            let each = answer(question, &Turn { bytes: share, answered: &answered });
            if let Ok(mut answers) = answers.lock() {
                answers.insert(index, each);
            }
        }
    };
    thread::scope(|scope| {
        // Where no other thread can be started, this one does it all.
        let started = (1..workers).map(|_| thread::Builder::new().spawn_scoped(scope, work));
        started.for_each(drop);
        work();
    });
    let mut answers: BTreeMap<usize, A> = answers.into_inner().unwrap_or_default();
    for (index, each) in answers.iter_mut().filter(|(_, each)| workers > 1 && needs_more(each)) {
        *each = answer(&questions[*index], &Turn { bytes: means.bytes, answered: &|| *index });
    }
    answers.into_values().collect()
}

/// No time passes, and nobody interrupts.
#[cfg(test)]
pub(crate) const MEANS: Means<'_> = Means {
    bytes: 4 * LEAST,
    seconds: 600,
    workers: 8,
    clock: &|| Duration::ZERO,
    interrupted: &|| false,
    progress: &|_, _, _| (),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_a_share_too_small_is_not_the_last_word() {
        // Each needs so much, and says what it was given.
        let needs = [1, 2 * LEAST, LEAST, 4 * LEAST, 5 * LEAST, 1];
        let answer = |needs: &u64, turn: &Turn<'_>| (turn.bytes >= *needs, turn.bytes);
        let given = all(&needs, &MEANS, answer, |(enough, _)| !enough);
        let (share, whole) = ((true, LEAST), (true, 4 * LEAST));
        assert_eq!(given, [share, whole, share, whole, (false, 4 * LEAST), share]);
        // One worker has it all at once.
        let given = all(&needs, &Means { workers: 1, ..MEANS }, answer, |_| panic!("there is no more"));
        assert!(given.iter().all(|&(_, bytes)| bytes == 4 * LEAST), "{given:?}");
    }
}
