//! Why one of two commands takes longer: both are profiled, in turns.

use schemars::JsonSchema;
use serde::Serialize;
use tenbin_analysis::profile::difference::{ENOUGH, Explanation, explain};
use tenbin_lab::profile::kernel::can_profile;
use tenbin_lab::weigh::{Profiling, Weighing};
use tenbin_model::{Profile, Report};

use crate::output::Trouble;
use crate::terminal::Progress;

/// What profiles the two commands.
///
/// # Errors
/// A usage error where there are not two, and what is lacking to profile them.
pub(super) fn can_be_asked(weighing: &Weighing) -> Result<Profiling, Trouble> {
    let two = weighing.profile.clone().filter(|_| weighing.names().len() == 2);
    let profiling = two.ok_or_else(|| {
        Trouble::usage("--why explains the difference of two commands: give two, without parameters")
    })?;
    can_profile()?;
    Ok(profiling)
}

/// What was measured, and why: what `weigh --why --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct Explained<'a> {
    /// The verdict, as `weigh --json` prints it.
    pub(super) report: &'a Report,
    /// Why the second command takes longer than the first, or does not, as `compare --json` prints it.
    pub(super) why: &'a Explanation,
}

/// The difference explained. None where nothing was profiled.
///
/// # Errors
/// A command could not be profiled.
pub(super) fn explanation(profiling: &Profiling, names: &[String]) -> Result<Option<Explanation>, Trouble> {
    let progress = Progress::new();
    let mut sides: [Vec<Profile>; 2] = Default::default();
    for turn in 0..ENOUGH {
        // Each side comes first in half of the turns.
        for side in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            progress.doing(&format!("profiling {} ({} of {ENOUGH})", names[side], turn + 1));
            sides[side].push(profiling(side)?);
        }
    }
    progress.finish();
    let [left, right] = sides;
    let names = [0, 1].map(|side| format!("`{}`", names[side]));
    Ok(explain(names, &left, &right))
}
