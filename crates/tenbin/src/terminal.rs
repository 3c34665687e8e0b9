//! The terminal: how wide it is, and a bar that moves between cells and never during one.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
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
        let bar = ProgressBar::with_draw_target(Some(0), target).with_finish(ProgressFinish::AndClear);
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

    /// Shows which replay is played, and for how long all have been.
    pub fn replays(&self, done: usize, all: usize) {
        self.doing(&format!("replay {} of {all}, in QEMU", (done + 1).min(all)));
    }

    /// Shows what is done where nothing can be counted, and the time since the first such. It ticks by itself: for what times nothing.
    pub fn doing(&self, what: &str) {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>3} {wide_msg}") {
            self.bar.set_style(style);
        }
        self.bar.set_message(what.to_owned());
        // A ticker is a thread, and starting one panics where the limits allow none. Whoever sees nothing needs none.
        if !self.bar.is_hidden() && thread::Builder::new().spawn(|| ()).is_ok() {
            self.bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
