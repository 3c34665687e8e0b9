//! The nouns of tenbin: what a measurement, a machine, an experiment and an answer *are*.
//!
//! This crate holds values and their invariants. It does no input or output, reads no clock and knows no
//! statistics, so every other room may depend on it and it depends on none.
//!
//! Reading order: [`mod@unit`], [`sample`], [`experiment`], [`run`], [`finding`], [`verdict`], [`claim`],
//! [`calibration`], [`machine`], [`topology`], [`sizes`], [`attribution`], [`blame`], [`profile`],
//! [`stacks`], [`lines`], [`kernel`], [`schema`], [`architecture`], [`elf`], [`order`], [`rows`], [`words`].

pub mod architecture;
pub mod attribution;
pub mod blame;
pub mod calibration;
pub mod claim;
pub mod elf;
pub mod experiment;
pub mod finding;
pub mod kernel;
pub mod lines;
pub mod machine;
pub mod noise;
pub mod order;
pub mod profile;
pub mod rows;
pub mod run;
pub mod sample;
pub mod schema;
pub mod sizes;
pub mod stacks;
pub mod stall;
pub mod topology;
pub mod unit;
pub mod verdict;
pub mod watch;
pub mod words;

pub use architecture::{Architecture, NotAnArchitecture};
pub use attribution::Attribution;
pub use blame::{Attributed, Blame, Called, Contracted, Offered, Searched, Watched};
pub use calibration::{Calibration, CalibrationReport, Load, MeasuredRatio, Pair, Purpose, Rates, Series};
pub use claim::{CheckReport, CheckedQuestion, ClaimFigure, ClaimOutcome, JudgedClaim};
pub use experiment::{
    AnalysisName, Arrangement, Axis, Comparison, Descriptor, Parameter, Published, Quantity, Role, Source,
    Variant, VariantIndex,
};
pub use finding::{Finding, Refusal};
pub use kernel::Kernel;
pub use machine::Machine;
pub use noise::{Diagnosis, Noise, Remedies, Remedy};
pub use order::Order;
pub use profile::Profile;
pub use rows::{Row, Rows, WrongCell};
pub use run::{
    Cell, Check, Effort, Ended, ExportedRun, Gauge, ListedRun, Probe, Provenance, Reading, Run, RunSummary,
    Trial,
};
pub use sample::{Sample, Share};
pub use sizes::{Size, Sizes, Word};
pub use stacks::Stacks;
pub use stall::Stalls;
pub use topology::Shared;
pub use unit::{Bytes, Cpu, Picoseconds};
pub use verdict::{Answer, Evidence, Figure, Grid, Interval, Missing, Regime, Report, Stretch, Verdict};
pub use watch::{Gap, GapCause, Gaps, WatchLine};
