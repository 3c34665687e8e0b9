//! What stands still on this machine, for how long, and why.
//!
//! A thread on each CPU ticks and sees when a tick is late. Where the kernel takes programs, they see what
//! takes long, from its beginning to its end. Beside them the clocks are compared, and what says that this
//! process was stopped, frozen or throttled is looked at.

mod cause;
mod look;
#[cfg(test)]
mod tests;
mod vmclock;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use tenbin_metal::child::monotonic;
use tenbin_metal::machine::{Facts, Root};
use tenbin_metal::symbols::Symbols;
use tenbin_metal::watch::kernel::{Event, Observer};
use tenbin_metal::watch::rtc::{Edge, Rtc};
use tenbin_metal::watch::{self, Late, Ticker, count_continuations};
use tenbin_metal::{Fault, Usage, interrupt};
use tenbin_model::watch::Sum;
use tenbin_model::{Cpu, Gap, GapCause, Gaps, Order, Picoseconds};

use self::cause::{Sight, Suspect};
use self::look::{Look, Sources, facts};
use self::vmclock::Disruption;
use crate::experiment::Unfit;

const LOOK: Duration = Duration::from_millis(100);

/// So much later all that there is to know of a gap is known, in nanoseconds.
const SETTLED: u64 = 150_000_000;

/// What ticks may take of a CPU at most.
const SHARE: f64 = 0.003;

/// The least and the most time from one tick to the next, in nanoseconds.
const OFTEN: u64 = 1_000_000;
const SELDOM: u64 = 100_000_000;

/// How long it is tried what a tick takes.
const TRIAL: Duration = Duration::from_millis(200);

/// Seconds of the battery's clock until it is known how late its interrupts are at least.
const EDGES: usize = 3;

/// For how long what was seen is kept, in nanoseconds: longer than any gap that is explained.
const KEPT: u64 = 60_000_000_000;

/// What is to be watched.
#[derive(Debug)]
pub struct Request {
    /// Which CPUs.
    pub cpus: Vec<Cpu>,
    /// For how long; none is until somebody interrupts it.
    pub duration: Option<Duration>,
    /// What is shorter is no gap.
    pub least: Picoseconds,
    /// From one tick to the next; none is as often as it may.
    pub tick: Option<Picoseconds>,
}

/// Watches, and hands on each gap when it is over, with when the watch began in nanoseconds of the monotonic
/// clock. It ends earlier when somebody interrupts this process, or
/// when `each` says that it is enough.
///
/// # Errors
/// A fault of the machine: a thread cannot be held on a CPU.
pub fn watch(request: &Request, each: &mut dyn FnMut(u64, &Gap) -> bool) -> Result<Gaps, Unfit> {
    let root = Root::new(Path::new("/"));
    let least = request.least.0 / 1000;
    count_continuations()?;
    let (sources, mut unobserved) = Sources::open(root, &request.cpus);
    let ticker = Ticker { period: period(request)?, late: least };
    let observer = Observer::attach(least / 4, sources.group()).map_err(|unattached| {
        unobserved.insert(0, format!("which task or interrupt it was: {}", unattached.why));
    });
    let rtc = Rtc::open().map_err(|why| {
        unobserved.push(format!("a virtual machine that is paused with all its clocks: {why}"));
    });
    unobserved.push(format!(
        "some gaps shorter than {} that no program in the kernel sees: there is a tick every {}",
        Picoseconds::from_nanos(least + ticker.period),
        Picoseconds::from_nanos(ticker.period),
    ));
    let ends = AtomicBool::new(false);
    let (lates, late) = channel();
    let (edges, edge) = channel();
    let mut course = Course::begin(request, least, sources, observer.ok());
    let before = Usage::of_this_thread();
    thread::scope(|scope| {
        let ends = &ends;
        let start = |cpu: &Cpu| {
            let (cpu, lates): (Cpu, Sender<Late>) = (*cpu, lates.clone());
            let thread = thread::Builder::new().name(watch::NAME.into());
            let started = thread.spawn_scoped(scope, move || ticker.run(cpu, ends, &lates));
            started.map_err(|error| Fault::system("start a thread", error))
        };
        let threads: Result<Vec<_>, Fault> = request.cpus.iter().map(start).collect();
        let threads = threads.inspect_err(|_| ends.store(true, Ordering::Relaxed))?;
        if let Ok(mut rtc) = rtc {
            scope.spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    // It is received as long as this goes on.
                    rtc.edge().into_iter().for_each(|edge| edges.send(edge).unwrap_or_default());
                }
            });
        }
        let until = request.duration.map(|duration| monotonic() + duration);
        let mut goes_on = true;
        // A thread that cannot tick ends at once.
        while goes_on
            && interrupt::requested().is_none()
            && !threads.iter().any(|thread| thread.is_finished())
        {
            let left = until.map(|until| until.saturating_sub(monotonic()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            thread::sleep(left.unwrap_or(LOOK).min(LOOK));
            goes_on = course.round(&late, &edge, SETTLED, each);
        }
        ends.store(true, Ordering::Relaxed);
        let mut used = Usage::of_this_thread().since(&before);
        for thread in threads {
            // One that panicked has said so.
            used = used.plus(&thread.join().unwrap_or(Err(Fault::Panicked))?);
        }
        if goes_on {
            course.round(&late, &edge, 0, each);
        }
        let used = Picoseconds(used.user.0 + used.system.0);
        Ok(course.end(request, Picoseconds::from_nanos(ticker.period), used, unobserved))
    })
}

/// Whether there is a host that could run something else; also where nothing says.
fn may_be_guest() -> bool {
    let vendors = Facts::of_this_process().hypervisor_vendors;
    vendors.known().is_none_or(|vendors| !vendors.is_empty())
}

/// From one tick to the next: so that ticks take no more than their share of a CPU.
fn period(request: &Request) -> Result<u64, Fault> {
    if let Some(tick) = request.tick {
        return Ok(tick.0 / 1000);
    }
    let Some(&cpu) = request.cpus.first() else { return Ok(OFTEN) };
    let ends = AtomicBool::new(false);
    let (lates, _late) = channel();
    let used = thread::scope(|scope| {
        let ends = &ends;
        let ticking = scope.spawn(move || Ticker { period: OFTEN, late: u64::MAX }.run(cpu, ends, &lates));
        thread::sleep(TRIAL);
        ends.store(true, Ordering::Relaxed);
        ticking.join().unwrap_or(Err(Fault::Panicked))
    })?;
    let used = (used.user.0 + used.system.0) as f64 / 1000.0 / (TRIAL.as_nanos() as f64 / OFTEN as f64);
    Ok(((used / SHARE) as u64).clamp(OFTEN, SELDOM))
}

/// Something that may have been a gap.
enum Sign {
    Late(Late),
    Event(Event),
}

impl Sign {
    fn began(&self) -> u64 {
        match self {
            Self::Late(late) => late.due,
            Self::Event(event) => event.began,
        }
    }

    fn ended(&self) -> u64 {
        match self {
            Self::Late(late) => late.seen,
            Self::Event(event) => event.ended,
        }
    }
}

struct Course<'a> {
    cpus: &'a [Cpu],
    least: u64,
    is_guest: bool,
    sources: Sources<'a>,
    observer: Option<Observer>,
    symbols: OnceCell<Option<Symbols>>,
    looks: Vec<Look>,
    /// In the order in which they ended.
    events: Vec<Event>,
    signs: Vec<Sign>,
    /// How far the battery's clock is ahead of the monotonic clock, in nanoseconds: the most so far, and of
    /// how many of its seconds.
    ahead: Option<(i128, usize)>,
    /// How late an interrupt of it was at most, in nanoseconds.
    lateness: u64,
    /// A pause that it showed, of which its next second may show more.
    pause: Option<Gap>,
    began: u64,
    sums: BTreeMap<String, Sum>,
    longest: Option<Gap>,
}

impl<'a> Course<'a> {
    fn begin(request: &'a Request, least: u64, sources: Sources<'a>, observer: Option<Observer>) -> Self {
        let first = sources.look();
        Self {
            cpus: &request.cpus,
            least,
            is_guest: may_be_guest(),
            sources,
            observer,
            symbols: OnceCell::new(),
            began: first.clocks.monotonic,
            looks: vec![first],
            events: Vec::new(),
            signs: Vec::new(),
            ahead: None,
            lateness: 1_000_000,
            pause: None,
            sums: BTreeMap::new(),
            longest: None,
        }
    }

    /// Looks, and hands on the gaps that were over so many nanoseconds before. Whether more are wanted.
    fn round(
        &mut self,
        late: &Receiver<Late>,
        edge: &Receiver<Edge>,
        settled: u64,
        each: &mut dyn FnMut(u64, &Gap) -> bool,
    ) -> bool {
        let look = self.sources.look();
        let now = look.clocks.monotonic;
        let mut gaps = self.stopped_clocks(&look);
        self.looks.push(look);
        for edge in edge.try_iter() {
            gaps.extend(self.paused(edge));
        }
        if settled == 0 {
            gaps.extend(self.pause.take());
        }
        self.signs.extend(late.try_iter().map(Sign::Late));
        let events = self.observer.as_mut().map(Observer::take).unwrap_or_default();
        for event in &events {
            let place = self.events.partition_point(|known| known.ended <= event.ended);
            self.events.insert(place, event.clone());
        }
        let functions = |address| self.function(address);
        let sight = self.sight(&functions, &[]);
        let signs: Vec<Sign> =
            events.into_iter().filter(|event| sight.suspect(event).is_some()).map(Sign::Event).collect();
        self.signs.extend(signs);
        gaps.extend(self.settled(now.saturating_sub(settled)));
        gaps.order_by_key(|gap| gap.began_ns);
        let kept = now.saturating_sub(KEPT);
        let old = self.events.partition_point(|event| event.ended < kept);
        // What is left moves: seldom.
        if old > self.events.len() / 2 {
            self.events.drain(..old);
        }
        let old = self.looks.partition_point(|look| look.clocks.monotonic < kept);
        self.looks.drain(..old.min(self.looks.len() - 1));
        gaps.into_iter().all(|gap| {
            self.count(&gap);
            each(self.began, &gap)
        })
    }

    fn sight<'b>(&'b self, function: &'b dyn Fn(u64) -> String, events: &'b [Event]) -> Sight<'b> {
        Sight {
            events: self.observer.is_some().then_some(events),
            function,
            cpus: self.cpus,
            least: self.least,
            is_guest: self.is_guest,
        }
    }

    /// The name of the kernel's function at an address.
    fn function(&self, address: u64) -> String {
        let symbols = self.symbols.get_or_init(|| Symbols::of_the_kernel().ok());
        let place = symbols.as_ref().and_then(|symbols| symbols.at(address));
        place.map_or_else(|| format!("{address:#x}"), |place| place.symbol.to_owned())
    }

    /// The gaps that were over by then, of whose signs none may come any more.
    fn settled(&mut self, horizon: u64) -> Vec<Gap> {
        self.signs.order_by_key(Sign::began);
        let mut gaps = Vec::new();
        let mut later = Vec::new();
        let mut signs = std::mem::take(&mut self.signs).into_iter().peekable();
        while let Some(first) = signs.next() {
            let mut ended = first.ended();
            let mut together = vec![first];
            while let Some(next) = signs.next_if(|next| next.began() <= ended) {
                ended = ended.max(next.ended());
                together.push(next);
            }
            if ended > horizon {
                later.extend(together);
            } else {
                gaps.extend(self.gaps(&together));
            }
        }
        self.signs = later;
        gaps
    }

    fn gaps(&self, signs: &[Sign]) -> Vec<Gap> {
        let before = |sign: &Sign| match sign {
            Sign::Late(late) => late.before,
            Sign::Event(event) => event.began,
        };
        let began = signs.iter().map(before).min().unwrap_or(0);
        let ended = signs.iter().map(Sign::ended).max().unwrap_or(0);
        let facts = facts(&self.looks, began, ended);
        let function = |address| self.function(address);
        let sight = self.sight(&function, &self.events);
        let suspects: Vec<Suspect> = signs
            .iter()
            .filter_map(|sign| match sign {
                Sign::Late(late) => Some(sight.tick(late, &facts)),
                Sign::Event(event) => sight.suspect(event),
            })
            .collect();
        sight.gaps(suspects, &facts)
    }

    /// Clocks that stood still since the last look, though others went on.
    fn stopped_clocks(&self, look: &Look) -> Vec<Gap> {
        let Some(last) = self.looks.last() else { return Vec::new() };
        let (now, before, first) = (look.clocks, last.clocks, self.looks[0].clocks);
        let went = now.monotonic.saturating_sub(before.monotonic);
        let slept = now.boottime.saturating_sub(before.boottime).saturating_sub(went);
        // How fast the counter is was seen for a while.
        let rate = (before.counter.saturating_sub(first.counter)) as f64
            / before.monotonic.saturating_sub(first.monotonic).max(1) as f64;
        let known = before.monotonic.saturating_sub(first.monotonic) > 1_000_000_000 && rate > 0.0;
        let counted = now.counter.saturating_sub(before.counter) as f64 / rate;
        let paused = if known { (counted as u64).saturating_sub(went) } else { 0 };
        let gap = |length: u64, causes: &[GapCause], evidence: &str| Gap {
            began_ns: before.monotonic,
            length: Picoseconds::from_nanos(length),
            uncertainty: Picoseconds::ZERO,
            cpus: self.cpus.to_vec(),
            causes: causes.to_vec(),
            evidence: evidence.into(),
        };
        let mut gaps = Vec::new();
        if slept >= self.least {
            gaps.push(gap(
                slept,
                &[GapCause::Suspended],
                "CLOCK_BOOTTIME went on and CLOCK_MONOTONIC did not",
            ));
        } else if paused >= self.least {
            let disruption = Disruption::between(last.marks, look.marks);
            let evidence = disruption.evidence("the CPU's counter went on and CLOCK_MONOTONIC did not");
            gaps.push(gap(paused, &disruption.causes(), &evidence));
        }
        gaps
    }

    /// A time in which the battery's clock went on and all others stood still, when it is over.
    fn paused(&mut self, edge: Edge) -> Option<Gap> {
        let day = 86_400_000_000_000_i128;
        let ahead = i128::from(edge.second) * 1_000_000_000 - i128::from(edge.monotonic);
        let Some((most, count)) = self.ahead else {
            self.ahead = Some((ahead, 1));
            return None;
        };
        let more = (ahead - most + day / 2).rem_euclid(day) - day / 2;
        // An interrupt that is served late makes it less.
        self.ahead = Some((if more > 0 { ahead } else { most }, count + 1));
        self.lateness = self.lateness.max(u64::try_from(-more).unwrap_or(0));
        let length = u64::try_from(more).ok().filter(|length| count >= EDGES && *length >= self.least);
        let Some(length) = length else { return self.pause.take() };
        let began_ns = edge.monotonic.saturating_sub(1_000_000_000);
        let disruption = facts(&self.looks, began_ns, edge.monotonic).disruption;
        // The first second after a pause may end before its time.
        let pause = self.pause.get_or_insert_with(|| Gap {
            began_ns,
            length: Picoseconds::ZERO,
            uncertainty: Picoseconds::from_nanos(self.lateness),
            cpus: self.cpus.to_vec(),
            causes: disruption.causes(),
            evidence: disruption.evidence("the battery's clock (/dev/rtc0) went on and all others did not"),
        });
        pause.length = Picoseconds(pause.length.0 + length * 1000);
        None
    }

    fn count(&mut self, gap: &Gap) {
        let cause = if gap.causes.len() > 1 { "ambiguous".into() } else { gap.cause() };
        let sum = self.sums.entry(cause.clone()).or_insert(Sum { cause, count: 0, time: Picoseconds::ZERO });
        sum.count += 1;
        sum.time = Picoseconds(sum.time.0.saturating_add(gap.length.0));
        if self.longest.as_ref().is_none_or(|longest| longest.length < gap.length) {
            self.longest = Some(gap.clone());
        }
    }

    fn end(self, request: &Request, tick: Picoseconds, used: Picoseconds, unobserved: Vec<String>) -> Gaps {
        let ended = self.looks.last().map_or(self.began, |look| look.clocks.monotonic);
        let mut causes: Vec<Sum> = self.sums.into_values().collect();
        causes.order_by(|one, other| other.time.cmp(&one.time).then_with(|| one.cause.cmp(&other.cause)));
        Gaps {
            began_ns: self.began,
            time: Picoseconds::from_nanos(ended.saturating_sub(self.began)),
            cpus: request.cpus.clone(),
            least: request.least,
            tick,
            causes,
            longest: self.longest,
            used,
            unobserved,
        }
    }
}
