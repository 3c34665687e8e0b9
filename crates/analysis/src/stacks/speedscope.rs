//! The file of speedscope: a profile a thread, whose samples stand in the order of time.
//!
//! Format: <https://www.speedscope.app/file-format-schema.json>.

use serde_json::{Value, json};
use tenbin_model::Stacks;
use tenbin_model::stacks::State;

use super::recording::{UNKNOWN, by_thread, nanoseconds, thread};

pub(super) fn written(stacks: &Stacks) -> String {
    let mut frames: Vec<Value> = stacks
        .frames
        .iter()
        .map(|frame| {
            let mut value = json!({ "name": frame.function });
            let file = frame.source.as_ref().or((!frame.module.is_empty()).then_some(&frame.module));
            if let Some(file) = file {
                value["file"] = json!(file);
            }
            if let Some(line) = frame.line {
                value["line"] = json!(line);
            }
            value
        })
        .collect();
    let unknown = frames.len();
    frames.extend([UNKNOWN, "[queued]", "[blocked]"].map(|name| json!({ "name": name })));
    let profiles: Vec<Value> = by_thread(stacks)
        .iter()
        .zip(0..)
        .map(|(places, number)| {
            let mut samples: Vec<Vec<usize>> = Vec::new();
            let mut weights: Vec<u64> = Vec::new();
            for sample in places.iter().map(|&place| &stacks.samples[place]) {
                let mut one: Vec<usize> = match sample.state {
                    State::OnCpu => vec![],
                    State::Queued => vec![unknown + 1],
                    State::Blocked => vec![unknown + 2],
                };
                one.extend(stacks.frames_of(sample.stack).map(|place| place as usize));
                if sample.stack.is_none() {
                    one.push(unknown);
                }
                one.reverse();
                samples.push(one);
                weights.push(nanoseconds(sample.time));
            }
            json!({
                "type": "sampled",
                "name": thread(stacks, number),
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": weights.iter().sum::<u64>(),
                "samples": samples,
                "weights": weights,
            })
        })
        .collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "tenbin",
        "name": stacks.command.join(" "),
        "shared": { "frames": frames },
        "profiles": profiles,
    })
    .to_string()
}
