//! The file of the Firefox Profiler, "processed profile format", in which each thread has tables of its own.
//!
//! Format: `docs-developer/processed-profile-format.md` of <https://github.com/firefox-devtools/profiler>;
//! its version 55, as the crate fxprof-processed-profile 0.8.1 writes it. Newer ones are made of it when it
//! is opened.

use serde_json::{Value, json};
use tenbin_model::Stacks;
use tenbin_model::stacks::{Sample, State};

use super::recording::{Interned, UNKNOWN, by_thread, mark, nanoseconds};

const VERSION: u32 = 55;

/// Categories by their places: the profiler colours frames by them.
const CATEGORIES: [(&str, &str); 4] =
    [("User", "yellow"), ("Kernel", "orange"), ("Blocked", "blue"), ("Queued", "grey")];

pub(super) fn written(stacks: &Stacks) -> String {
    let categories =
        CATEGORIES.map(|(name, color)| json!({ "name": name, "color": color, "subcategories": ["Other"] }));
    let threads: Vec<Value> =
        by_thread(stacks).iter().zip(0..).map(|(places, number)| thread(stacks, number, places)).collect();
    json!({
        "meta": {
            "categories": categories,
            "debug": false,
            "extensions": { "length": 0, "baseURL": [], "id": [], "name": [] },
            "interval": milliseconds(nanoseconds(stacks.period)),
            "preprocessedProfileVersion": VERSION,
            "processType": 0,
            "product": stacks.command.join(" "),
            "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs" },
            "startTime": 0,
            "symbolicated": true,
            "pausedRanges": [],
            "version": 24,
            "usesOnlyOneStackType": true,
            "sourceCodeIsNotOnSearchfox": true,
            "markerSchema": [],
        },
        "libs": [],
        "threads": threads,
        "pages": [],
        "profilerOverhead": [],
        "counters": [],
    })
    .to_string()
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// The tables of a thread.
#[derive(Default)]
struct Tables {
    strings: Interned<String>,
    modules: Interned<usize>,
    /// Name, module, source.
    functions: Interned<(usize, Option<usize>, Option<usize>)>,
    /// Function, line, category.
    frames: Interned<(usize, Option<u32>, usize)>,
    /// Prefix, frame.
    stacks: Interned<(Option<usize>, usize)>,
}

impl Tables {
    fn frame(
        &mut self,
        name: &str,
        module: &str,
        source: Option<&str>,
        line: Option<u32>,
        category: usize,
    ) -> usize {
        let name = self.strings.place(name.to_owned());
        let module = (!module.is_empty()).then(|| {
            let name = self.strings.place(module.rsplit('/').next().unwrap_or_default().to_owned());
            self.modules.place(name)
        });
        let source = source.map(|source| self.strings.place(source.to_owned()));
        let function = self.functions.place((name, module, source));
        self.frames.place((function, line, category))
    }

    fn stack(&mut self, stacks: &Stacks, sample: &Sample) -> usize {
        let mut frames: Vec<usize> = Vec::new();
        for place in stacks.frames_of(sample.stack) {
            let it = &stacks.frames[place as usize];
            let category = usize::from(it.is_kernel());
            frames.push(self.frame(&it.function, &it.module, it.source.as_deref(), it.line, category));
        }
        frames.reverse();
        if sample.stack.is_none() {
            frames.push(self.frame(UNKNOWN, "", None, None, 0));
        }
        if let Some(mark) = mark(sample.state) {
            let category = if sample.state == State::Blocked { 2 } else { 3 };
            frames.push(self.frame(mark, "", None, None, category));
        }
        let mut stack = None;
        for frame in frames {
            stack = Some(self.stacks.place((stack, frame)));
        }
        stack.unwrap_or(0)
    }
}

fn thread(stacks: &Stacks, number: usize, places: &[usize]) -> Value {
    let mut tables = Tables::default();
    let (mut of, mut deltas, mut weights, mut on_cpu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut before = 0.0;
    for sample in places.iter().map(|&place| &stacks.samples[place]) {
        let (at, time) = (milliseconds(nanoseconds(sample.at)), nanoseconds(sample.time));
        of.push(tables.stack(stacks, sample));
        deltas.push(at - before);
        before = at;
        weights.push(milliseconds(time));
        on_cpu.push(if sample.state == State::OnCpu { time / 1000 } else { 0 });
    }
    let first = places.first().map_or(0, |&place| {
        let sample = &stacks.samples[place];
        nanoseconds(sample.at.saturating_sub(sample.time))
    });
    let this = &stacks.threads[number];
    let whose = stacks.threads.iter().find(|it| it.thread == this.process).unwrap_or(this);
    let Tables { strings, modules, functions, frames, stacks: nodes } = tables;
    let (functions, frames, nodes) = (functions.list, frames.list, nodes.list);
    let (functions_count, frames_count, modules_count) = (functions.len(), frames.len(), modules.list.len());
    json!({
        "frameTable": {
            "length": frames_count,
            "address": vec![-1; frames_count],
            "inlineDepth": vec![0; frames_count],
            "category": frames.iter().map(|it| it.2).collect::<Vec<_>>(),
            "subcategory": vec![0; frames_count],
            "func": frames.iter().map(|it| it.0).collect::<Vec<_>>(),
            "nativeSymbol": vec![Value::Null; frames_count],
            "innerWindowID": vec![0; frames_count],
            "line": frames.iter().map(|it| it.1).collect::<Vec<_>>(),
            "column": vec![Value::Null; frames_count],
        },
        "funcTable": {
            "length": functions_count,
            "name": functions.iter().map(|it| it.0).collect::<Vec<_>>(),
            "isJS": vec![false; functions_count],
            "relevantForJS": vec![false; functions_count],
            "resource": functions.iter().map(|it| it.1.map_or(json!(-1), |it| json!(it))).collect::<Vec<_>>(),
            "fileName": functions.iter().map(|it| it.2).collect::<Vec<_>>(),
            "lineNumber": vec![Value::Null; functions_count],
            "columnNumber": vec![Value::Null; functions_count],
        },
        "markers": {
            "length": 0,
            "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": [],
        },
        "name": this.name,
        "isMainThread": this.thread == this.process,
        "nativeSymbols": { "length": 0, "address": [], "functionSize": [], "libIndex": [], "name": [] },
        "pausedRanges": [],
        "pid": this.process.to_string(),
        "processName": whose.name,
        "processShutdownTime": Value::Null,
        "processStartupTime": 0,
        "processType": "default",
        "registerTime": milliseconds(first),
        // 1 is a library.
        "resourceTable": {
            "length": modules_count,
            "lib": vec![Value::Null; modules_count],
            "name": modules.list,
            "host": vec![Value::Null; modules_count],
            "type": vec![1; modules_count],
        },
        "samples": {
            "length": of.len(),
            "weightType": "tracing-ms",
            "stack": of,
            "timeDeltas": deltas,
            "weight": weights,
            "threadCPUDelta": on_cpu,
        },
        "stackTable": {
            "length": nodes.len(),
            "prefix": nodes.iter().map(|it| it.0).collect::<Vec<_>>(),
            "frame": nodes.iter().map(|it| it.1).collect::<Vec<_>>(),
        },
        "stringArray": strings.list,
        "tid": this.thread.to_string(),
        "unregisterTime": Value::Null,
        "showMarkersInTimeline": false,
    })
}
