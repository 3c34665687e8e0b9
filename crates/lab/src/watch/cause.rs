//! Why nothing ran: what was seen of each CPU, put together. It touches no machine.

use tenbin_metal::watch::kernel::{Event, Work};
use tenbin_metal::watch::{self, Late};
use tenbin_model::{Cpu, Gap, GapCause, Order, Picoseconds};

use super::vmclock::Disruption;

/// The states of a task (`include/linux/sched.h`).
const STOPPED: u32 = 0x4;
const TRACED: u32 = 0x8;

/// Priorities below this are real time, and keep ordinary tasks from the CPU.
const ORDINARY: u32 = 100;

/// Among so many suspects before one is what it goes on from.
const NEAR: usize = 8;

/// What was seen where nothing says why.
const UNSEEN: &str = "no thread of this process ran";

/// The names of soft interrupts, by number (`softirq_to_name` in `kernel/softirq.c`).
const SOFT: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What happened about the time of a gap, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// A signal let this process go on.
    pub(super) continued: bool,
    /// Its control group was frozen or thawed.
    pub(super) frozen: bool,
    /// For how long its control groups were throttled.
    pub(super) throttled: u64,
    /// For how long the host ran something else, CPU by CPU, to within 10 ms.
    pub(super) stolen: Vec<(Cpu, u64)>,
    /// What the hypervisor says.
    pub(super) disruption: Disruption,
}

/// What may have been a gap on one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) cpu: Cpu,
    /// Nanoseconds of the monotonic clock.
    pub(super) began: u64,
    pub(super) ended: u64,
    /// By how much it may have been shorter or longer.
    pub(super) uncertainty: u64,
    /// Whether a tick saw it and not the kernel.
    by_tick: bool,
    /// Why: none where that is not known.
    pub(super) cause: Option<GapCause>,
    pub(super) evidence: String,
}

impl Suspect {
    fn length(&self) -> u64 {
        self.ended.saturating_sub(self.began)
    }

    /// How long it was at least.
    fn certain_length(&self) -> u64 {
        self.length().saturating_sub(self.uncertainty)
    }

    fn touches(&self, other: &Self) -> bool {
        self.began <= other.ended && other.began <= self.ended
    }

    /// Whether this lasted for at least half of the other one, on the same CPU.
    fn is_most_of(&self, other: &Self) -> bool {
        let common = self.ended.min(other.ended).saturating_sub(self.began.max(other.began));
        self.cpu == other.cpu && common >= other.length() / 2
    }
}

pub(super) struct Sight<'a> {
    /// What its programs saw about that time, in the order in which it ended; none where there are none.
    pub(super) events: Option<&'a [Event]>,
    pub(super) function: &'a dyn Fn(u64) -> String,
    pub(super) cpus: &'a [Cpu],
    /// The shortest gap, in nanoseconds.
    pub(super) least: u64,
    /// Whether there is a hypervisor.
    pub(super) is_guest: bool,
}

impl Sight<'_> {
    /// What the event may have been.
    pub(super) fn suspect(&self, event: &Event) -> Option<Suspect> {
        if event.ended.saturating_sub(event.began) < self.least {
            return None;
        }
        let interrupt = |name: String| Some(GapCause::Interrupt { name: Some(name) });
        let (cause, evidence) = match &event.work {
            Work::Task { name, .. } if name.starts_with("migration/") => {
                (Some(GapCause::StopMachine), format!("{name} had the CPU"))
            }
            Work::Task { number, name, priority } if *priority < ORDINARY => (
                Some(GapCause::Task { name: Some(format!("{name} ({number})")) }),
                "it has a real-time priority".into(),
            ),
            Work::Task { .. } => return None,
            Work::Interrupt { number, name } => {
                (interrupt(format!("interrupt {number} ({name})")), "its handler".into())
            }
            Work::Soft(number) => {
                let name = SOFT.get(*number as usize).copied().unwrap_or("of an unknown number");
                (interrupt(format!("soft interrupt {name}")), "its handler".into())
            }
            Work::Timer(address) => {
                (interrupt(format!("timer {}", (self.function)(*address))), "its callback".into())
            }
            Work::Call(address) => (
                interrupt(format!("call of {}", (self.function)(*address))),
                "another CPU asked for it".into(),
            ),
            Work::Late(address) => (None, format!("the timer {} expired late", (self.function)(*address))),
            Work::Away { state, .. } if state & STOPPED != 0 => (Some(GapCause::Stopped), "its state".into()),
            Work::Away { state, .. } if state & TRACED != 0 => (Some(GapCause::Traced), "its state".into()),
            Work::Away { .. } => return None,
            Work::Frozen => (Some(GapCause::Frozen), "its control group said so".into()),
        };
        let cpu = match event.work {
            // All its threads, wherever the kernel noted it.
            Work::Frozen => *self.cpus.first()?,
            _ => Cpu(event.cpu),
        };
        if !self.cpus.contains(&cpu) {
            return None;
        }
        // Whoever was let go on is woken then, and may have to wait for the CPU.
        let ended = match event.work {
            Work::Away { woken, .. } if woken > event.began => woken,
            _ => event.ended,
        };
        Some(Suspect { cpu, began: event.began, ended, uncertainty: 0, by_tick: false, cause, evidence })
    }

    /// What a late tick may have been. Its gap began between the last tick and when it was due, unless the
    /// kernel says from when on the thread was kept from running.
    pub(super) fn tick(&self, late: &Late, facts: &Facts) -> Suspect {
        let length = late.seen.saturating_sub(late.due);
        let uncertainty = late.due.saturating_sub(late.before) / 2;
        let away = self.meanwhile(late).find_map(|event| match &event.work {
            Work::Away { name, woken, .. } if name == watch::NAME => Some((*woken, event.ended)),
            _ => None,
        });
        let (cause, evidence) = self.of_tick(late, away, length, facts);
        let exact = match (&cause, away) {
            (Some(GapCause::Task { .. }), Some((woken, ended))) if woken > 0 => Some((woken, ended)),
            _ => None,
        };
        // A timer that expired ended what was no task: then the thread was only queued.
        let ended = match away {
            Some((woken, _)) if cause.is_none() && woken > 0 => woken,
            _ => late.seen,
        };
        let (began, ended) = exact.unwrap_or((late.due.saturating_sub(uncertainty), ended));
        let uncertainty = if exact.is_some() { 0 } else { uncertainty };
        Suspect { cpu: late.cpu, began, ended, uncertainty, by_tick: true, cause, evidence }
    }

    /// What ended on the CPU of a late tick while it was late.
    fn meanwhile(&self, late: &Late) -> impl Iterator<Item = &Event> {
        let events = self.events.unwrap_or_default();
        let ended_by = |time: u64| events.partition_point(|event| event.ended < time);
        let between = events.get(ended_by(late.due)..ended_by(late.seen.saturating_add(1)));
        between.unwrap_or_default().iter().filter(|event| event.cpu == late.cpu.0)
    }

    fn of_tick(
        &self,
        late: &Late,
        away: Option<(u64, u64)>,
        length: u64,
        facts: &Facts,
    ) -> (Option<GapCause>, String) {
        let is_most = |time: u64| time >= length / 2;
        if facts.continued && self.events.is_none() {
            return (Some(GapCause::Stopped), "SIGCONT arrived".into());
        }
        if facts.frozen && self.events.is_none() {
            return (Some(GapCause::Frozen), "its control group says that it changed".into());
        }
        let queued = match away {
            Some((woken, ended)) if woken > 0 => Some(ended.saturating_sub(woken)),
            _ => late.queued,
        };
        // Where the kernel does not count it, it may have been.
        if !queued.is_none_or(is_most) {
            return (None, UNSEEN.into());
        }
        if is_most(facts.throttled) {
            let time = nanoseconds(facts.throttled);
            return (Some(GapCause::Throttled), format!("cpu.stat: throttled for {time}"));
        }
        if queued.is_none() {
            return (None, UNSEEN.into());
        }
        // It could have run: who did? The one who did so for longest.
        let tasks = self.meanwhile(late).filter_map(|event| match &event.work {
            Work::Task { number, name, .. } => {
                Some((event.ended.saturating_sub(event.began.max(late.due)), number, name))
            }
            _ => None,
        });
        match tasks.max() {
            Some((time, number, name)) if is_most(time) => (
                Some(GapCause::Task { name: Some(format!("{name} ({number})")) }),
                "a tick waited for it".into(),
            ),
            _ => (Some(GapCause::Task { name: None }), "a tick waited for the CPU".into()),
        }
    }

    /// The gaps that these were, in the order in which they began.
    pub(super) fn gaps(&self, mut suspects: Vec<Suspect>, facts: &Facts) -> Vec<Gap> {
        // A group that is frozen is so on every CPU.
        let is_frozen = |suspect: &&Suspect| suspect.cause == Some(GapCause::Frozen) && !suspect.by_tick;
        let frozen: Vec<Suspect> = suspects.iter().filter(is_frozen).cloned().collect();
        for suspect in frozen {
            let others = self.cpus.iter().filter(|&&cpu| cpu != suspect.cpu);
            suspects.extend(others.map(|&cpu| Suspect { cpu, ..suspect.clone() }));
        }
        // No task keeps a timer from expiring.
        let is_late = |suspect: &&Suspect| suspect.cause.is_none() && !suspect.by_tick;
        let late: Vec<Suspect> = suspects.iter().filter(is_late).cloned().collect();
        for suspect in &mut suspects {
            let is_task = matches!(suspect.cause, Some(GapCause::Task { .. }));
            if let Some(late) = late.iter().find(|late| is_task && late.is_most_of(suspect)) {
                suspect.cause = None;
                suspect.evidence.clone_from(&late.evidence);
            }
        }
        suspects.order_by_key(|suspect| (suspect.cpu, suspect.began));
        let mut alone = self.of_each_cpu(self.joined(suspects), facts);
        alone.order_by_key(|gap| gap.began_ns);
        let mut gaps: Vec<Gap> = Vec::new();
        for gap in alone {
            // The same on several CPUs: most of it at a time.
            let same = gaps.iter_mut().find(|known| {
                let began = known.began_ns.max(gap.began_ns);
                let common = known.ended_ns().min(gap.ended_ns()).saturating_sub(began);
                known.causes == gap.causes
                    && Picoseconds::from_nanos(2 * common) >= known.length.max(gap.length)
                    && !known.cpus.contains(&gap.cpus[0])
            });
            match same {
                Some(known) => {
                    known.cpus.extend(&gap.cpus);
                    known.cpus.sort_unstable();
                    if (gap.uncertainty, known.length) < (known.uncertainty, gap.length) {
                        let cpus = std::mem::take(&mut known.cpus);
                        *known = Gap { cpus, ..gap };
                    }
                }
                None => gaps.push(gap),
            }
        }
        for gap in &mut gaps {
            self.narrow(gap, facts);
        }
        gaps
    }

    /// The same with those in one that are of one cause, and with hardly anything between them: a task that
    /// lost its CPU for a moment, threads that were stopped one after the other.
    fn joined(&self, suspects: Vec<Suspect>) -> Vec<Suspect> {
        let mut joined: Vec<Suspect> = Vec::new();
        for suspect in suspects {
            let goes_on = |before: &&mut Suspect| {
                !before.by_tick
                    && !suspect.by_tick
                    && suspect.cause.is_some()
                    && (before.cpu, &before.cause) == (suspect.cpu, &suspect.cause)
                    && suspect.began <= before.ended + self.least / 4
            };
            match joined.iter_mut().rev().take(NEAR).find(goes_on) {
                Some(before) => before.ended = before.ended.max(suspect.ended),
                None => joined.push(suspect),
            }
        }
        joined
    }

    /// The gaps of each CPU, of suspects in the order of CPUs and beginnings.
    fn of_each_cpu(&self, suspects: Vec<Suspect>, facts: &Facts) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut rest = suspects.into_iter().peekable();
        while let Some(first) = rest.next() {
            let mut together = vec![first];
            while let Some(next) = rest.next_if(|next| {
                next.cpu == together[0].cpu && together.iter().any(|suspect| suspect.touches(next))
            }) {
                together.push(next);
            }
            let Some(best) = best(&together).cloned() else { continue };
            gaps.extend(self.gap(&best, facts));
            // What the kernel saw at another time, or while a tick waited for longer, is a gap too.
            let is_vague = best.by_tick || best.cause.is_none();
            together.retain(|suspect| {
                !suspect.by_tick && suspect.cause.is_some() && (is_vague || !suspect.touches(&best))
            });
            gaps.extend(self.of_each_cpu(together, facts));
        }
        gaps
    }

    /// What a suspect is, with what else is known of that time.
    fn gap(&self, best: &Suspect, facts: &Facts) -> Option<Gap> {
        if best.certain_length() < self.least {
            return None;
        }
        let stolen = facts.stolen.iter().find(|(cpu, _)| *cpu == best.cpu).map_or(0, |(_, stolen)| *stolen);
        let mut evidence = best.evidence.clone();
        let causes = match &best.cause {
            None if stolen >= best.length() / 2 => {
                evidence = format!("/proc/stat: {} stolen", nanoseconds(stolen));
                vec![GapCause::Steal]
            }
            None => {
                evidence = facts.disruption.evidence(&evidence);
                self.unknown(facts)
            }
            // The host may have taken the CPU in the middle of it.
            Some(cause @ (GapCause::Interrupt { .. } | GapCause::StopMachine))
                if stolen >= best.length() / 2 =>
            {
                evidence = format!("{evidence}; /proc/stat: {} stolen", nanoseconds(stolen));
                vec![cause.clone(), GapCause::Steal]
            }
            Some(cause @ GapCause::Interrupt { .. }) if facts.disruption.is_certain() => {
                evidence = facts.disruption.evidence(&evidence);
                let mut causes = facts.disruption.causes();
                causes.push(cause.clone());
                causes
            }
            Some(cause) => vec![cause.clone()],
        };
        Some(Gap {
            began_ns: best.began,
            length: Picoseconds::from_nanos(best.length()),
            uncertainty: Picoseconds::from_nanos(best.uncertainty),
            cpus: vec![best.cpu],
            causes,
            evidence,
        })
    }

    /// What it may be where nothing says.
    fn unknown(&self, facts: &Facts) -> Vec<GapCause> {
        if facts.disruption.is_certain() {
            return facts.disruption.causes();
        }
        let mut causes = vec![GapCause::InterruptsOff, GapCause::Unseen];
        if self.events.is_none() {
            causes.extend([GapCause::Interrupt { name: None }, GapCause::StopMachine]);
        }
        if self.is_guest {
            causes.push(GapCause::Steal);
            causes.extend(facts.disruption.causes());
        }
        causes
    }

    /// Strikes out what cannot have been: not all CPUs stopped where one was late.
    fn narrow(&self, gap: &mut Gap, facts: &Facts) {
        // Whoever is stopped or frozen has no thread that ticks.
        let is_of_all = matches!(gap.causes[..], [GapCause::Frozen | GapCause::Stopped]);
        if self.events.is_none() && is_of_all && gap.cpus.len() < self.cpus.len() {
            gap.causes = self.unknown(facts);
            gap.evidence = UNSEEN.into();
        }
        // The same thread moves tasks from its CPU.
        if gap.causes == [GapCause::StopMachine] && gap.cpus.len() < self.cpus.len() {
            gap.causes = vec![GapCause::Task { name: None }];
        }
        if gap.causes.len() > 1 && gap.cpus.len() < self.cpus.len() && !facts.disruption.is_certain() {
            let of_all = [GapCause::StopMachine, GapCause::Paused, GapCause::Migrated, GapCause::Restored];
            gap.causes.retain(|cause| !of_all.contains(cause));
        }
        gap.causes.sort();
    }
}

/// What several suspects at a time were: the innermost one with a cause that was most of it.
fn best(together: &[Suspect]) -> Option<&Suspect> {
    let longest = together.iter().max_by_key(|suspect| suspect.certain_length())?;
    let known = together.iter().filter(|suspect| {
        suspect.cause.is_some() && (suspect.length() + 2 * longest.uncertainty) * 2 >= longest.length()
    });
    let cause = known.min_by_key(|suspect| (suspect.by_tick, suspect.uncertainty, suspect.length()));
    Some(cause.unwrap_or(longest))
}

fn nanoseconds(time: u64) -> Picoseconds {
    Picoseconds::from_nanos(time)
}
