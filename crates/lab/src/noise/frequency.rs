//! How fast cores run: what sets their frequency, and what changes it.

use tenbin_metal::machine::{CPUS, Reading, integer};
use tenbin_model::Cpu;
use tenbin_model::machine::{CoreKind, Observed, cpu_ranges, cpus_in_words};
use tenbin_model::words::{comma, counted};

use super::{Sight, Source, Symptom, known};
use crate::experiment::Aspect;

pub(super) const SOURCES: &[Source] = &[
    Source::new(
        "frequency governor",
        "a core that was idle starts slowly and speeds up while it is timed",
        governor,
    ),
    Source::new(
        "turbo",
        "a core is faster while others are idle, and slower as the package grows warm",
        turbo,
    ),
    Source::new(
        "frequency",
        "cores that run at different speeds are compared, or one that changes",
        frequency,
    ),
    Source::new("thermal throttling", "a hot package slows its cores down", throttling),
    Source::new("power supply", "on battery the firmware limits frequencies", power),
    Source::new("hybrid cores", "the scheduler moves work between cores of different speeds", hybrid),
    Source::new("idle states", "what wakes on an idle CPU waits until that has left a deep sleep", idle)
        .that_disturbs(&[Aspect::Wakes]),
];

/// `Documentation/admin-guide/pm/cpufreq.rst`.
fn governor(sight: &Sight<'_>) -> Reading<Symptom> {
    let governor = known(&sight.machine.governor)?;
    Ok(match governor.as_str() {
        "performance" => Symptom::quiet("performance"),
        _ => Symptom::possible(governor.as_str(), "cpupower frequency-set -g performance"),
    })
}

/// `Documentation/admin-guide/pm/intel_pstate.rst`, `cpufreq.rst`.
fn turbo(sight: &Sight<'_>) -> Reading<Symptom> {
    let intel = format!("{CPUS}/intel_pstate/no_turbo");
    Ok(match known(&sight.machine.turbo)? {
        false => Symptom::quiet("off"),
        true if sight.root.exists(&intel) => Symptom::possible("on", format!("echo 1 > {intel}")),
        true => Symptom::possible("on", format!("echo 0 > {CPUS}/cpufreq/boost")),
    })
}

/// How far cores may differ before they are said to: they are not asked at the same moment.
const APART: f64 = 0.05;

fn frequency(sight: &Sight<'_>) -> Reading<Symptom> {
    let kilohertz = |cpu: &Cpu| {
        sight.root.parsed(&format!("{CPUS}/cpu{}/cpufreq/scaling_cur_freq", cpu.0), integer::<u64>)
    };
    let frequencies: Vec<u64> = sight.cpus.iter().map(kilohertz).collect::<Reading<_>>()?;
    let low = frequencies.iter().min().map_or(0.0, |low| *low as f64 / 1e6);
    let high = frequencies.iter().max().map_or(0.0, |high| *high as f64 / 1e6);
    // An idle core is slow, and that disturbs nobody: it may be as fast as the others once it works.
    Ok(if low < high * (1.0 - APART) {
        Symptom::possible(
            format!("from {low:.2} to {high:.2} GHz while watched"),
            "set one frequency for all: cpupower frequency-set -d FREQUENCY -u FREQUENCY",
        )
    } else {
        Symptom::quiet(format!("{high:.2} GHz"))
    })
}

fn throttling(sight: &Sight<'_>) -> Reading<Symptom> {
    let (before, after) = (sight.before.throttled()?, sight.after.throttled()?);
    let times = |count: u64| counted(count as usize, "time");
    let remedy = "let it cool, improve the cooling, or set a lower frequency";
    Ok(match after.saturating_sub(before) {
        0 if after == 0 => Symptom::quiet("never"),
        0 => Symptom::possible(format!("{} since the start, none while watched", times(after)), remedy),
        now => Symptom::active(format!("{} while watched", times(now)), remedy),
    })
}

/// `Documentation/ABI/testing/sysfs-class-power`.
fn power(sight: &Sight<'_>) -> Reading<Symptom> {
    const SUPPLIES: &str = "/sys/class/power_supply";
    let says = |name: &String, file: &str, word: &str| {
        sight.root.text(&format!("{SUPPLIES}/{name}/{file}")).is_ok_and(|text| text == word)
    };
    let names = sight.root.names(SUPPLIES)?;
    let mut supplies = names.iter();
    let discharges =
        supplies.find(|name| says(name, "type", "Battery") && says(name, "status", "Discharging"));
    Ok(match discharges {
        Some(battery) => Symptom::active(format!("{battery} discharges"), "plug it in"),
        None => Symptom::quiet("no battery discharges"),
    })
}

fn hybrid(sight: &Sight<'_>) -> Reading<Symptom> {
    let places = sight.machine.cpus.iter().filter(|place| sight.cpus.contains(&place.cpu));
    let (mut strong, mut weak) = (Vec::new(), Vec::new());
    for place in places {
        match &place.kind {
            Observed::Known(CoreKind::Efficiency) => weak.push(place.cpu),
            Observed::Known(_) => strong.push(place.cpu),
            Observed::NotObservable(why) => return Err(why.clone()),
        }
    }
    if strong.is_empty() && weak.is_empty() {
        return Err("the places of the CPUs are not known".into());
    }
    Ok(if strong.is_empty() || weak.is_empty() {
        Symptom::quiet("all of one kind")
    } else {
        let seen = format!("{}: of a weaker kind", cpus_in_words(&weak));
        Symptom::possible(seen, format!("measure with --cpus {}", cpu_ranges(&strong)))
    })
}

/// In microseconds. A wake-up that waits longer than this for its CPU waits longer than for anything else on
/// its way.
const DEEP: u64 = 10;

/// `Documentation/admin-guide/pm/cpuidle.rst`.
fn idle(sight: &Sight<'_>) -> Reading<Symptom> {
    let cpu = sight.cpus.first().ok_or("no CPU was named")?;
    let folder = format!("{CPUS}/cpu{}/cpuidle", cpu.0);
    let states = sight.root.names(&folder)?;
    let (mut deep, mut deepest) = (Vec::new(), 0);
    for state in states.iter().filter(|name| name.starts_with("state")) {
        let path = |what: &str| format!("{folder}/{state}/{what}");
        let latency = sight.root.parsed(&path("latency"), integer::<u64>)?;
        let is_off = sight.root.text(&path("disable")).is_ok_and(|text| text == "1");
        if latency > DEEP && !is_off {
            deep.push(sight.root.word(&path("name"))?);
            deepest = deepest.max(latency);
        }
    }
    Ok(if deep.is_empty() {
        Symptom::quiet(format!("none takes more than {DEEP} µs to leave"))
    } else {
        let seen = format!("{}, which take up to {deepest} µs to leave", comma(&deep));
        Symptom::possible(
            seen,
            format!("cpupower idle-set -D {DEEP}, or hold /dev/cpu_dma_latency open at 0"),
        )
    })
}
