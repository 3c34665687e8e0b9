//! Folded stacks: a line a stack, its frames from the outermost on, parted by semicolons, and its time in ns.
//!
//! Format: `stackcollapse.pl` and `flamegraph.pl` of Brendan Gregg's FlameGraph. Frames of the kernel end
//! with `_[k]`, as there.

use std::collections::BTreeMap;
use std::fmt::Write;

use tenbin_model::Stacks;

use super::recording::{UNKNOWN, mark, nanoseconds};

pub(super) fn written(stacks: &Stacks) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for sample in &stacks.samples {
        let mut frames: Vec<String> = mark(sample.state).map(str::to_owned).into_iter().collect();
        for place in stacks.frames_of(sample.stack) {
            let frame = &stacks.frames[place as usize];
            let end = if frame.is_kernel() { "_[k]" } else { "" };
            frames.push(format!("{}{end}", plain(&frame.function)));
        }
        if sample.stack.is_none() {
            frames.push(UNKNOWN.into());
        }
        frames.push(plain(&stacks.threads[sample.thread as usize].name));
        frames.reverse();
        *lines.entry(frames.join(";")).or_default() += nanoseconds(sample.time);
    }
    let mut text = String::new();
    for (line, time) in lines {
        let _ = writeln!(text, "{line} {time}");
    }
    text
}

/// A name without what parts frames and lines.
fn plain(name: &str) -> String {
    let plain: String =
        name.chars().map(|letter| if letter == ';' || letter.is_control() { ':' } else { letter }).collect();
    if plain.is_empty() { UNKNOWN.into() } else { plain }
}
