//! The published remedy, before and after: its work with NUMA balancing and huge pages on and off, the
//! settings put back.

use std::path::Path;

use tenbin_metal::knobs::{JOURNAL, Switch, Switched, can_be_set};
use tenbin_metal::{Fault, Team};
use tenbin_model::unit::three_digits;
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{Effort, Finding, Machine, Picoseconds, Refusal};

use super::counted::{Counts, Pass, Until};
use super::finding;
use crate::experiment::{Request, Unfit};
use crate::experiments::is_yes;

const BALANCING: &str = "/proc/sys/kernel/numa_balancing";
const HUGE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// What is set, in the order of the first half of the passes; the second half is its mirror image, so that
/// what drifts is in every pair. First the machine as published, last the published remedy.
const STATES: [State; 4] = [
    State { balancing: true, huge: true },
    State { balancing: false, huge: true },
    State { balancing: true, huge: false },
    State { balancing: false, huge: false },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    balancing: bool,
    huge: bool,
}

impl State {
    fn set(self, switched: &Switched) -> Result<(), Fault> {
        switched.set(BALANCING, if self.balancing { "1" } else { "0" })?;
        switched.set(HUGE, if self.huge { "always" } else { "never" })
    }

    fn in_words(self) -> String {
        let on = |is_on| if is_on { "on" } else { "off" };
        format!("balancing {}, huge pages {}", on(self.balancing), on(self.huge))
    }
}

/// Whether the user asks for it: only then is anything switched.
pub(super) fn asked(request: &Request<'_>) -> Result<bool, Unfit> {
    let asked = is_yes(request, "remedy")?;
    match ["threads", "as", "bytes"].into_iter().find(|key| asked && request.settings.given(key).is_some()) {
        Some(key) => Err(Unfit::Usage(format!(
            "--set {key}: with remedy=yes the published work is counted, on all CPUs, and nothing else is measured"
        ))),
        None => Ok(asked),
    }
}

/// What this machine lacks for it, none for nothing: memory nodes that are `known`, and whether each setting
/// can be set.
fn lacking(nodes: Option<usize>, settings: &[(&str, Result<(), String>)]) -> Option<Refusal> {
    let few = nodes.filter(|&nodes| nodes < 2).map(|nodes| {
        (format!("there is {nodes} memory node"), "2 memory nodes: balancing moves pages between nodes")
    });
    let denied = settings.iter().filter_map(|(_, result)| {
        let why = result.as_ref().err()?.clone();
        Some((why, "root, and a kernel with NUMA balancing and huge pages that may be set"))
    });
    let (reached, mut needs): (Vec<String>, Vec<&str>) = few.into_iter().chain(denied).unzip();
    needs.dedup();
    (!reached.is_empty()).then(|| Refusal {
        reached: format!("{}; nothing was switched", semicolon(&reached)),
        needs: needs.join("; and "),
        remedy: "run it as root on a machine with several nodes, or in a guest: tenbin guest run --cpus 2 --nodes 2 -- tenbin run faults --set remedy=yes"
            .into(),
    })
}

pub(super) fn look(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    let settings = [BALANCING, HUGE].map(|path| (path, can_be_set(path).map_err(|fault| fault.to_string())));
    if let Some(refusal) = lacking(request.machine.nodes.known().map(Vec::len), &settings) {
        return Err(Unfit::Refused(refusal));
    }
    let limit = Picoseconds::from_millis(match request.effort {
        Effort::Quick => 2_000,
        Effort::Normal => 4_000,
        Effort::Thorough => 10_000,
    });
    let mut team = Team::gather(request.clock, request.cpus)?;
    let switch = |path: &str, values: [&str; 2]| Switch::Setting {
        path: path.into(),
        values: values.map(Into::into).into(),
        back: None,
    };
    let switches = vec![switch(BALANCING, ["0", "1"]), switch(HUGE, ["never", "always"])];
    let switched = Switched::guard(switches, Path::new(JOURNAL))?;
    let before = [BALANCING, HUGE].map(|path| switched.before(path).unwrap_or_default().to_owned());
    let mut passes = Vec::new();
    for state in STATES.into_iter().chain(STATES.into_iter().rev()) {
        state.set(&switched)?;
        let Pass { counts, usage, .. } =
            Pass::run(&mut team, request.machine, Until::Both(limit), request.seed)?;
        passes.push((state, counts, usage.system));
    }
    switched.restore()?;
    Ok(vec![in_words(&passes, &before, limit, request.machine)])
}

/// What was switched on, what was counted then, and how long the kernel took.
type Counted = (State, Counts, Picoseconds);

/// Faults of both passes in this state, those to be expected, and their ratio, in words.
fn of_state(passes: &[Counted], wanted: State) -> (u64, u64, String) {
    let of_both = passes.iter().filter(|(state, ..)| *state == wanted);
    let (faults, expected) = of_both.fold((0, 0), |(faults, expected), (_, counts, _)| {
        (faults + counts.faults, expected + counts.expected())
    });
    (faults, expected, three_digits(faults as f64 / expected.max(1) as f64))
}

fn in_words(passes: &[Counted], before: &[String; 2], limit: Picoseconds, machine: &Machine) -> Finding {
    let [published, .., remedied] = STATES;
    let ((faults, expected, ratio), (less, least, lesser)) =
        (of_state(passes, published), of_state(passes, remedied));
    let between =
        STATES[1..3].iter().map(|&it| format!("{}x with {}", of_state(passes, it).2, it.in_words()));
    let is_timed = machine.virtualisation.timing_can_be_trusted();
    let each = passes.iter().map(|(state, Counts { faults, touched, huge, hints, .. }, system)| {
        let hints = hints.map_or_else(|| "hints not counted".into(), |hints| format!("{hints} hints"));
        let system = if is_timed { format!(", {system} in the kernel") } else { String::new() };
        let state = state.in_words();
        format!("{state}: {faults} faults for {touched} pages, {huge} huge ones among them, {hints}{system}")
    });
    finding(
        format!(
            "With NUMA balancing and huge pages on the published work took {faults} faults where {expected} were to be expected, {ratio}x; \
             with both off, which is the published remedy, {less} where {least} were, {lesser}x ({}). Both settings are as they were.",
            comma(between)
        ),
        format!(
            "{} passes of {limit} each, in this order: {}; before and again now: kernel.numa_balancing {}, \
             transparent_hugepage/enabled {}; hints are those of the whole machine",
            passes.len(),
            semicolon(each),
            before[0],
            before[1]
        ),
        "two passes of each kind, counted by the kernel; the settings were read back",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::says;

    #[test]
    fn what_is_lacking_is_all_said_and_nothing_is_switched() {
        let denied = || [(BALANCING, Err("open balancing: Permission denied".to_owned())), (HUGE, Ok(()))];
        let refusal = lacking(Some(1), &denied()).unwrap();
        assert_eq!(
            refusal.reached,
            "there is 1 memory node; open balancing: Permission denied; nothing was switched"
        );
        says(&refusal.needs, &["2 memory nodes", "root"]);
        says(&refusal.remedy, &["--nodes 2"]);
        assert_eq!(lacking(Some(2), &[(BALANCING, Ok(())), (HUGE, Ok(()))]), None);
        assert!(!lacking(Some(2), &denied()).unwrap().needs.contains("2 memory nodes"));
    }

    #[test]
    fn counts_before_and_after_are_said_with_what_each_half_does() {
        let passes = STATES.into_iter().chain(STATES.into_iter().rev()).map(|state| {
            let touched = if state.huge { 100 } else { 1_000 };
            let faults = touched + if state.balancing { 500 } else { 0 };
            let counts = Counts { faults, touched, hints: Some(500), ..Counts::default() };
            (state, counts, Picoseconds::ZERO)
        });
        let passes: Vec<Counted> = passes.collect();
        let before = ["1".to_owned(), "madvise".to_owned()];
        let limit = Picoseconds::from_millis(4_000);
        let Finding { sentence, evidence, .. } =
            in_words(&passes, &before, limit, &Machine::unobserved("a test"));
        assert_eq!(
            sentence,
            "With NUMA balancing and huge pages on the published work took 1200 faults where 200 were to be expected, 6.00x; with both \
             off, which is the published remedy, 2000 where 2000 were, 1.00x (1.00x with balancing off, huge pages on, 1.50x with \
             balancing on, huge pages off). Both settings are as they were."
        );
        assert!(evidence.starts_with("8 passes of 4.00 s each"), "{evidence}");
        says(&evidence, &["enabled madvise", "500 hints"]);
    }
}
