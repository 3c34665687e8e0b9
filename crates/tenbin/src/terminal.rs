//! The terminal: how wide it is, and a bar that moves between stretches of cells and never during one.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use tenbin_lab::Event;
use tenbin_lab::weigh::{self, so_far};
use tenbin_model::{Cell, Descriptor, Picoseconds};

use crate::ascii::ascii;
use crate::output::say;

/// Columns to fold text at when nobody says otherwise.
const USUAL_WIDTH: usize = 100;

/// The width to fold answers at: the terminal's, within reason, else [`USUAL_WIDTH`].
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .map_or(USUAL_WIDTH, |columns| columns.clamp(40, 140))
}

/// A bar on standard error, if that is a terminal. All of it is ASCII, and as wide as the terminal at most.
pub struct Progress {
    bar: ProgressBar,
}

/// A bar for experiments. What is going to be measured is known before the first cell, so its end stays where
/// it is.
pub struct Planned<'a> {
    pub progress: Progress,
    /// The most time that each experiment is expected to take; none is 0.
    times: Vec<Picoseconds>,
    /// How many experiments have begun.
    begun: usize,
    /// The name of the one that is being measured.
    name: String,
    /// How many stretches its cells have, and how many of them are done.
    stretches: (usize, usize),
    /// The time since the beginning.
    watch: &'a dyn Fn() -> Picoseconds,
    /// When what is known so far was last drawn.
    drawn: Picoseconds,
}

impl<'a> Planned<'a> {
    /// A bar for experiments that are expected to take these times at most; `watch` is the time since the
    /// beginning.
    pub fn new(times: Vec<Picoseconds>, watch: &'a dyn Fn() -> Picoseconds) -> Self {
        let progress = Progress::new();
        progress.bar.set_length(times.iter().map(|time| time.0).sum());
        Self {
            progress,
            times,
            begun: 0,
            name: String::new(),
            stretches: (0, 0),
            watch,
            drawn: Picoseconds::ZERO,
        }
    }

    /// Follows the engine. Nothing ticks by itself: all drawing is done before a stretch begins.
    pub fn follow(&mut self, event: Event<'_>) {
        match event {
            Event::Trial { name, stretches } => {
                self.begun += 1;
                self.name = name.to_owned();
                self.stretches = (stretches, 0);
                self.draw("");
            }
            Event::Stretch { label } => self.draw(label),
            Event::Measured { descriptor, cell } => self.draw_so_far(descriptor, cell),
            // A cell that is measured on has more of them than were planned.
            Event::StretchDone => self.stretches.1 = (self.stretches.1 + 1).min(self.stretches.0),
            Event::Checked { took, runs, most } => self.announce(took, runs, most),
            Event::Finished { .. } => {}
        }
    }

    /// Says how long commands that take long will take, before anybody waits for them.
    fn announce(&self, took: Picoseconds, runs: [u64; 2], most: u64) {
        let expected: u64 = self.times.iter().map(|time| time.0).sum();
        if took.0.saturating_mul(runs[0].min(most)) > expected {
            // Only commands of a user's have options for it.
            self.aside(|| say(&announcement(took, runs, most, self.name == weigh::NAME)));
        }
    }

    /// Draws what is known of a cell that takes long, not more often than anybody can read.
    fn draw_so_far(&mut self, descriptor: &Descriptor, cell: &Cell) {
        const BETWEEN: Picoseconds = Picoseconds::from_millis(500);
        let elapsed = (self.watch)();
        if self.progress.bar.is_hidden() || elapsed.saturating_sub(self.drawn) < BETWEEN {
            return;
        }
        self.drawn = elapsed;
        let known = so_far(descriptor, cell).unwrap_or_default();
        let (_, all) = self.done();
        let left = roughly(all.saturating_sub(elapsed));
        let message = format!("{}, {left} left at most: {known}", roughly(elapsed));
        self.progress.show(elapsed.0.min(all.0), &message);
        self.progress.bar.tick();
    }

    fn draw(&self, label: &str) {
        let (elapsed, done) = ((self.watch)(), self.done());
        let message = format!(
            "{} of {}, {}, about {} left: {} {label}",
            self.begun,
            self.times.len(),
            roughly(elapsed),
            roughly(left(elapsed, done)),
            self.name,
        );
        self.progress.show(done.0.0, &message);
        self.progress.bar.tick();
    }

    /// Does what writes to the terminal, with the bar out of the way.
    pub fn aside(&self, work: impl FnOnce()) {
        self.progress.bar.suspend(work);
    }

    /// How much of the expected time is done, and all of it.
    fn done(&self) -> (Picoseconds, Picoseconds) {
        let sum = |times: &[Picoseconds]| times.iter().map(|time| time.0).sum::<u64>();
        let earlier = self.begun.saturating_sub(1);
        let (all, done) = self.stretches;
        let current = self.times.get(earlier).map_or(0, |time| time.0);
        let part = if all == 0 { 0 } else { (current as f64 * done as f64 / all as f64) as u64 };
        (Picoseconds(sum(&self.times[..earlier]) + part), Picoseconds(sum(&self.times)))
    }
}

/// The time that is left when `done` of `all` that was expected has taken `elapsed`. What was expected counts
/// as much as half a minute of what was seen, so that the first cell decides little.
fn left(elapsed: Picoseconds, (done, all): (Picoseconds, Picoseconds)) -> Picoseconds {
    const WEIGHT: f64 = 30e12;
    let pace = (elapsed.0 as f64 + WEIGHT) / (done.0 as f64 + WEIGHT);
    Picoseconds((all.saturating_sub(done).0 as f64 * pace) as u64)
}

/// A time as somebody who waits reads it: "42 s", "3 min".
fn roughly(time: Picoseconds) -> String {
    match time.as_seconds().round() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

impl Progress {
    /// A bar that has not begun.
    pub fn new() -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target).with_finish(ProgressFinish::AndClear);
        // A message that is wide is cut off where the terminal ends.
        let style = ProgressStyle::with_template("[{bar:16}] {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("#>-"));
        }
        Self { bar }
    }

    /// Shows which part of a calibration is done after `elapsed`: drawn between two pairs, and not more often
    /// than anybody can read.
    pub fn pair(&mut self, part: f64, elapsed: Picoseconds, work: &str) {
        let left = Picoseconds((elapsed.0 as f64 * (1.0 - part).max(0.0) / part.max(1e-3)) as u64);
        let (elapsed, left) = (roughly(elapsed), roughly(left));
        self.bar.set_length(100);
        self.show((part * 100.0) as u64, &format!("{elapsed}, about {left} left: pairs of {work}"));
    }

    /// Shows a message, and how far it has come.
    fn show(&self, position: u64, message: &str) {
        self.bar.set_message(ascii(message));
        self.bar.set_position(position);
    }

    /// Shows how many processes have measured.
    pub fn processes(&self, done: u32, all: u32) {
        self.bar.set_length(u64::from(all));
        self.show(u64::from(done), "processes");
        // Nothing is drawn while one of them measures.
        self.bar.tick();
    }

    /// Shows how many litmus tests are settled.
    pub fn tests(&self, settled: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.show(settled as u64, &format!("{settled} of {all} litmus tests"));
    }

    /// Shows how many machines are examined, and how many states of one of the others are known.
    pub fn boots(&self, examined: usize, all: usize, states: u64) {
        self.bar.set_length(all as u64);
        self.show(examined as u64, &format!("{examined} of {all} machines; {states} states of the next"));
    }

    /// Shows which replay is played, and for how long all have been.
    pub fn replays(&self, done: usize, all: usize) {
        self.doing(&format!("replay {} of {all}, in QEMU", (done + 1).min(all)));
    }

    /// Shows what is done where nothing can be counted, and the time since the first such. It ticks by
    /// itself: for what times nothing.
    pub fn doing(&self, what: &str) {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>3} {wide_msg}") {
            self.bar.set_style(style);
        }
        self.bar.set_message(ascii(what));
        // A ticker is a thread, and starting one panics where the limits allow none. Whoever sees nothing
        // needs none.
        if !self.bar.is_hidden() && thread::Builder::new().spawn(|| ()).is_ok() {
            self.bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How long commands take of which one run of each took `took`: `runs` of each for an answer, at the level of
/// error that was asked for and at a higher one, but no more than `most`.
fn announcement(took: Picoseconds, runs: [u64; 2], most: u64, has_options: bool) -> String {
    let after = |runs: u64| roughly(Picoseconds(took.0.saturating_mul(runs)));
    // A short one is no rough figure.
    let one = if took.as_seconds() < 2.0 { took.to_string() } else { roughly(took) };
    let [usual, coarse] = runs;
    let sentence = if most < usual {
        format!(
            "One run of each takes {one}: {most} of each take {}, and an answer takes {usual}.",
            after(most)
        )
    } else {
        format!("One run of each takes {one}: an answer takes {usual} runs of each, {}.", after(usual))
    };
    let options = if has_options {
        format!(" A higher level of error (--level 5%) takes {}, and --within TIME bounds it.", after(coarse))
    } else {
        String::new()
    };
    format!("{sentence}{options} Ctrl-C ends it with what is known by then.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Picoseconds = Picoseconds::from_millis(1_000);

    fn seconds(count: u64) -> Picoseconds {
        Picoseconds(SECOND.0 * count)
    }

    #[test]
    fn too_few_runs_for_an_answer_are_announced_as_such() {
        let enough = announcement(seconds(30), [15, 9], 100, true);
        assert!(enough.contains("an answer takes 15 runs of each, 8 min."), "{enough}");
        assert!(enough.contains("(--level 5%) takes 5 min"), "{enough}");
        let short = announcement(Picoseconds::from_millis(433), [8, 6], 100, true);
        assert!(
            short.contains("One run of each takes 433 ms: an answer takes 8 runs of each, 3 s."),
            "{short}"
        );
        let few = announcement(seconds(30), [15, 9], 7, false);
        assert!(few.contains("7 of each take 4 min, and an answer takes 15. Ctrl-C"), "{few}");
    }

    #[test]
    fn the_end_of_the_bar_stays_where_it_is() {
        let watch = || Picoseconds(0);
        let mut progress = Planned::new(vec![seconds(4), seconds(8)], &watch);
        let mut seen = Vec::new();
        // The second is measured on once more than was planned.
        for (name, stretches, further) in [("first", 2, 0), ("second", 2, 1)] {
            progress.follow(Event::Trial { name, stretches });
            for _ in 0..stretches + further {
                progress.follow(Event::Stretch { label: "a \u{b5}" });
                progress.follow(Event::StretchDone);
                let bar = &progress.progress.bar;
                seen.push((bar.position() / 1_000_000_000_000, bar.length()));
            }
        }
        let all = Some(seconds(12).0);
        assert_eq!(seen, [(0, all), (2, all), (4, all), (8, all), (12, all)]);
    }

    #[test]
    fn what_is_left_is_what_was_expected_at_the_pace_that_was_seen() {
        let all = seconds(120);
        assert_eq!(left(seconds(0), (seconds(0), all)), all);
        assert_eq!(left(seconds(30), (seconds(60), all)).0 / SECOND.0, 40);
        assert_eq!(left(seconds(300), (all, all)), seconds(0));
        assert_eq!([seconds(42), seconds(119), seconds(170)].map(roughly), ["42 s", "119 s", "3 min"]);
    }
}
