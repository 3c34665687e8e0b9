//! Gaps, a line each, and what became of a watch in a sentence.

use tenbin_model::machine::cpus_in_words;
use tenbin_model::words::{comma, counted, percent};
use tenbin_model::{Gap, Gaps, Picoseconds};

/// A gap in a line: when it began after the watch did, for how long, where and why.
pub fn gap(gap: &Gap, began_ns: u64) -> String {
    let since = gap.began_ns.saturating_sub(began_ns) as f64 / 1e9;
    let (length, cpus, cause, evidence) = (length(gap), cpus_in_words(&gap.cpus), gap.cause(), &gap.evidence);
    format!("{since:>10.3} s  {length:>18}  {cpus}: {cause} ({evidence})\n")
}

fn length(gap: &Gap) -> String {
    match gap.uncertainty {
        Picoseconds::ZERO => gap.length.to_string(),
        uncertainty => format!("{} ± {uncertainty}", gap.length),
    }
}

/// How many gaps there were and why; then what was not observed.
pub fn gaps(gaps: &Gaps) -> String {
    let count: u64 = gaps.causes.iter().map(|sum| sum.count).sum();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let cause = |sum: &tenbin_model::watch::Sum| format!("{} {} ({})", sum.count, sum.cause, sum.time);
    let mut text = if count == 0 { "No gap".into() } else { counted(count, "gap") };
    text += &format!(" of {} or longer on {} in {}", gaps.least, cpus_in_words(&gaps.cpus), gaps.time);
    if count > 0 {
        text += &format!(": {}", comma(gaps.causes.iter().map(cause)));
    }
    if let Some(longest) = gaps.longest.as_ref().filter(|_| count > 1) {
        let after = Picoseconds::from_nanos(longest.began_ns.saturating_sub(gaps.began_ns));
        text += &format!("; the longest one, {}, after {after}", length(longest));
    }
    let share = gaps.used.0 as f64 / gaps.time.0.max(1) as f64 / gaps.cpus.len().max(1) as f64;
    text += &format!(".\nIt took {} of each CPU, with a tick every {}.\n", percent(share), gaps.tick);
    for unobserved in &gaps.unobserved {
        text += &format!("Not observed: {unobserved}.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use tenbin_model::watch::Sum;
    use tenbin_model::{Cpu, GapCause};

    use super::*;

    fn a_gap(length: u64, uncertainty: u64, causes: Vec<GapCause>) -> Gap {
        Gap {
            began_ns: 3_250_000_000,
            length: Picoseconds::from_nanos(length),
            uncertainty: Picoseconds::from_nanos(uncertainty),
            cpus: vec![Cpu(1)],
            causes,
            evidence: "its callback".into(),
        }
    }

    #[test]
    fn a_gap_says_when_how_long_where_and_why() {
        let timer = GapCause::Interrupt { name: Some("timer perf_swevent_hrtimer".into()) };
        assert_eq!(
            gap(&a_gap(20_000_180, 0, vec![timer]), 1_000_000_000),
            "     2.250 s             20.0 ms  CPU 1: timer perf_swevent_hrtimer (its callback)\n"
        );
        assert_eq!(
            gap(&a_gap(3_000_000, 500_000, vec![GapCause::InterruptsOff, GapCause::Unseen]), 1_000_000_000),
            "     2.250 s    3.00 ms ± 500 µs  CPU 1: ambiguous: interrupts off or hypervisor or firmware, \
             unseen (its callback)\n"
        );
    }

    #[test]
    fn the_last_lines_say_how_many_and_what_was_not_observed() {
        let mut all = Gaps {
            began_ns: 1_000_000_000,
            time: Picoseconds::from_millis(60_000),
            cpus: vec![Cpu(0), Cpu(1)],
            least: Picoseconds::from_millis(2),
            tick: Picoseconds::from_millis(1),
            causes: Vec::new(),
            longest: None,
            used: Picoseconds::from_millis(400),
            unobserved: vec!["which task or interrupt it was: no rights".into()],
        };
        assert_eq!(
            gaps(&all),
            "No gap of 2.00 ms or longer on CPUs 0-1 in 60.0 s.\nIt took 0.333 % of each CPU, with a tick every \
             1.00 ms.\nNot observed: which task or interrupt it was: no rights.\n"
        );
        let (cause, time) = (GapCause::Throttled.to_string(), Picoseconds::from_millis(150));
        all.causes.push(Sum { cause, count: 2, time });
        all.longest = Some(a_gap(90_000_000, 0, vec![GapCause::Throttled]));
        let first = "2 gaps of 2.00 ms or longer on CPUs 0-1 in 60.0 s: 2 its control group was throttled (cpu.max) \
                     (150 ms); the longest one, 90.0 ms, after 2.25 s.";
        assert_eq!(gaps(&all).lines().next(), Some(first));
    }
}
