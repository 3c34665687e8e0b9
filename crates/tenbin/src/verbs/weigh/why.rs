//! Why one of two commands takes longer: both are profiled, in turns.

use tenbin_analysis::profile::difference::{ENOUGH, document, explain};
use tenbin_lab::profile::kernel::can_profile;
use tenbin_lab::weigh::{Profiling, Weighing};
use tenbin_model::Profile;

use crate::output::Trouble;
use crate::terminal::{self, Progress};
use crate::verbs::profile::unprofiled;

/// What profiles the two commands.
///
/// # Errors
/// A usage error where there are not two, and what is lacking to profile them.
pub(super) fn can_be_asked(weighing: &Weighing) -> Result<Profiling, Trouble> {
    let two = weighing.profile.clone().filter(|_| weighing.names().len() == 2);
    let profiling = two.ok_or_else(|| {
        Trouble::usage("--why explains the difference of two commands: give two, without parameters")
    })?;
    can_profile().map_err(unprofiled)?;
    Ok(profiling)
}

/// The difference explained, as it stands below a verdict.
///
/// # Errors
/// A command could not be profiled.
pub(super) fn answer(profiling: &Profiling, names: &[String]) -> Result<String, Trouble> {
    let progress = Progress::new();
    let mut sides: [Vec<Profile>; 2] = Default::default();
    for turn in 0..ENOUGH {
        // Each side comes first in half of the turns.
        for side in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            progress.doing(&format!("profiling {} ({} of {ENOUGH})", names[side], turn + 1));
            sides[side].push(profiling(side).map_err(unprofiled)?);
        }
    }
    progress.finish();
    let [left, right] = sides;
    let names = [0, 1].map(|side| format!("`{}`", names[side]));
    let explained = explain(names, &left, &right);
    Ok(explained.map_or_else(String::new, |explained| {
        format!("\n{}", document(&explained, Some("why")).text(terminal::width()))
    }))
}
