//! The terminal: how wide it is, and a bar that moves between cells and never during one.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tenbin_lab::Event;

/// Columns to fold text at when nobody says otherwise.
const USUAL_WIDTH: usize = 100;

/// The width to fold answers at: the terminal's, within reason, else [`USUAL_WIDTH`].
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .map_or(USUAL_WIDTH, |columns| columns.clamp(40, 140))
}

/// A bar on standard error, if that is a terminal.
pub struct Progress {
    bar: ProgressBar,
    trial: String,
}

impl Progress {
    /// A bar that has not begun.
    pub fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar, trial: String::new() }
    }

    /// Follows the engine. Nothing ticks by itself: all drawing is done before a cell begins.
    pub fn follow(&mut self, event: Event<'_>) {
        match event {
            Event::Trial { name, cells } => {
                self.trial = name.to_owned();
                self.bar.inc_length(cells as u64);
            }
            Event::Cell { label } => {
                self.bar.set_message(format!("{} {label}", self.trial));
                self.bar.tick();
            }
            Event::CellDone => self.bar.inc(1),
        }
    }

    /// Shows which part of a calibration is done: drawn between two pairs, and not more often than anybody
    /// can read.
    pub fn pair(&mut self, part: f64, work: &str) {
        self.bar.set_length(100);
        self.bar.set_message(format!("% of the calibration; a pair of {work}"));
        self.bar.set_position((part * 100.0) as u64);
    }

    /// Shows how many processes have measured.
    pub fn processes(&self, done: u32, all: u32) {
        self.bar.set_length(u64::from(all));
        self.bar.set_message("processes");
        self.bar.set_position(u64::from(done));
        // Nothing is drawn while one of them measures.
        self.bar.tick();
    }

    /// Shows how many litmus tests are settled.
    pub fn tests(&self, settled: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_message("litmus tests");
        self.bar.set_position(settled as u64);
    }

    /// Shows how many machines are examined, and how many states of one of the others are known.
    pub fn boots(&self, examined: usize, all: usize, states: u64) {
        self.bar.set_length(all as u64);
        self.bar.set_message(format!("machines; {states} states of this one"));
        self.bar.set_position(examined as u64);
    }

    /// Shows how many replays are done.
    pub fn replays(&self, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_message("replays");
        self.bar.set_position(done as u64);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
