//! Candidate executions: one trace a hart, and every way in which their loads and stores could have met.
//!
//! For each load a store that it returns (`rf`), for each address an order of its stores (`co`). A load comes
//! before the stores that follow the one that it returns (`fr`). The axioms, in the form that the
//! specification's appendix has for herd:
//!
//! - coherence: `co`, `rf`, `fr` and program order at one address have no cycle;
//! - the load value axiom and the global memory order: `co`, `rf` between harts, `fr` and preserved program
//!   order have none;
//! - atomicity: no other hart's store comes between the store that a `lr` returns and that of its `sc`.
//!
//! What breaks an axiom is dropped as soon as it does: first by `rf` alone, then address by address.

use std::collections::BTreeMap;

use super::EndVisitor;
use super::limits::Meter;
use super::order::Ordered;
use super::refusal::{MOST_EVENTS, NoAnswer};
use super::thread::MemoryAccess;

/// By event, as bits: the events that come after it.
type Graph = Vec<u64>;

pub(super) struct Candidate<'a> {
    harts: &'a [&'a Ordered],
    /// The number of each hart's first event.
    firsts: Vec<usize>,
    events: Vec<Event<'a>>,
    /// The stores at each address.
    stores: BTreeMap<u64, Vec<usize>>,
    loads: Vec<usize>,
    /// The store that each load returns; `None` for what was there at first.
    sources: Vec<Option<usize>>,
    initial: &'a dyn Fn(u64) -> u64,
}

struct Event<'a> {
    hart: usize,
    access: &'a MemoryAccess,
}

/// An order of the stores to one address that the axioms of one address allow.
struct Order {
    address: u64,
    stores: Vec<usize>,
    /// `co` and `fr`.
    edges: Vec<(usize, usize)>,
}

/// The last store of each address that has any, with what it stored.
pub(super) type Last = BTreeMap<u64, u64>;

impl<'a> Candidate<'a> {
    /// `None` where the traces have more than [`MOST_EVENTS`] accesses. `initial` says what an address holds
    /// at first.
    pub(super) fn new(harts: &'a [&'a Ordered], initial: &'a dyn Fn(u64) -> u64) -> Option<Self> {
        let mut firsts = Vec::new();
        let mut events = Vec::new();
        for (hart, ordered) in harts.iter().enumerate() {
            firsts.push(events.len());
            events.extend(ordered.trace.accesses.iter().map(|access| Event { hart, access }));
        }
        if events.len() > MOST_EVENTS {
            return None;
        }
        let mut stores = BTreeMap::<u64, Vec<usize>>::new();
        let mut loads = Vec::new();
        for (index, event) in events.iter().enumerate() {
            if event.access.writes() {
                stores.entry(event.access.address).or_default().push(index);
            }
            if event.access.reads() {
                loads.push(index);
            }
        }
        let sources = vec![None; events.len()];
        Some(Self { harts, firsts, events, stores, loads, sources, initial })
    }

    /// Tells `visitor` of every way in which such an execution can end, where loads before the one of the
    /// number `next` have their sources.
    pub(super) fn explore(
        &mut self,
        next: usize,
        meter: &mut Meter<'_>,
        visitor: &mut EndVisitor<'_, '_>,
    ) -> Result<(), NoAnswer> {
        let Some(&load) = self.loads.get(next) else {
            return self.choose_orders(meter, visitor);
        };
        let (hart, access) = (self.events[load].hart, self.events[load].access);
        let stores = self.stores.get(&access.address).cloned().unwrap_or_default();
        // What the hart itself stored last before it hides what was stored before that.
        let own = stores.iter().copied().filter(|&each| each < load && self.events[each].hart == hart).max();
        // An atomic operation follows what it returns at once, and so no two of them return the same store.
        let is_other = |&&each: &&usize| {
            let other = self.events[each].access;
            access.writes() && other.writes() && other.address == access.address
        };
        let others = self.loads[..next].iter().filter(is_other);
        let taken = others.map(|&each| self.sources[each]).collect::<Vec<_>>();
        if own.is_none() && !taken.contains(&None) && access.read == Some((self.initial)(access.address)) {
            self.sources[load] = None;
            self.explore(next + 1, meter, visitor)?;
        }
        for &store in &stores {
            let local = self.events[store].hart == hart;
            let visible = store != load && (!local || own == Some(store));
            if visible && self.events[store].access.written == access.read && !taken.contains(&Some(store)) {
                self.sources[load] = Some(store);
                self.explore(next + 1, meter, visitor)?;
            }
        }
        Ok(())
    }

    fn choose_orders(&self, meter: &mut Meter<'_>, visitor: &mut EndVisitor<'_, '_>) -> Result<(), NoAnswer> {
        meter.step()?;
        let graph = self.known();
        if !is_acyclic(&graph) {
            return Ok(());
        }
        let held = meter.held;
        let mut orders = Vec::new();
        for (&address, stores) in &self.stores {
            let mut allowed = Vec::new();
            let chains = self.chains(stores);
            self.order(address, &mut Vec::new(), stores, &chains, &mut allowed, meter)?;
            if allowed.is_empty() {
                return Ok(());
            }
            orders.push(allowed);
        }
        self.combine(&orders, graph, &mut Last::new(), meter, visitor)?;
        meter.held = held;
        Ok(())
    }

    /// The atomic operations among these stores, each with the store that it returns, and so follows at once.
    fn chains(&self, stores: &[usize]) -> Vec<(usize, Option<usize>)> {
        let is_atomic = |&&store: &&usize| self.events[store].access.reads();
        stores.iter().filter(is_atomic).map(|&store| (store, self.sources[store])).collect()
    }

    /// What comes before what, by program order and by what loads return.
    fn known(&self) -> Graph {
        let mut graph = vec![0; self.events.len()];
        for (hart, &first) in self.harts.iter().zip(&self.firsts) {
            for (index, &after) in hart.preserved.iter().enumerate() {
                graph[first + index] |= after << first;
            }
            // Rule 2: loads of one address that return different stores.
            for &(one, other) in &hart.load_pairs {
                if self.sources[first + one] != self.sources[first + other] {
                    graph[first + one] |= 1 << (first + other);
                }
            }
        }
        for &load in &self.loads {
            let Some(store) = self.sources[load] else {
                let all = self.stores.get(&self.events[load].access.address);
                for &store in all.into_iter().flatten().filter(|&&store| store != load) {
                    graph[load] |= 1 << store;
                }
                continue;
            };
            let Event { hart, access } = self.events[store];
            if hart != self.events[load].hart {
                graph[store] |= 1 << load;
                continue;
            }
            // Rule 3: nothing is forwarded from an atomic operation or a `sc`.
            if access.atomic {
                graph[store] |= 1 << load;
            }
            // Rule 12: what a store waits for, a load waits for that returns it.
            let first = self.firsts[hart];
            for (index, after) in graph[first..].iter_mut().enumerate().take(store - first) {
                if (access.address_from | access.data_from) & (1 << index) != 0 {
                    *after |= 1 << load;
                }
            }
        }
        graph
    }

    /// Collects the orders of the stores to an address that begin with `begun` and that the axioms of one
    /// address allow.
    fn order(
        &self,
        address: u64,
        begun: &mut Vec<usize>,
        stores: &[usize],
        chains: &[(usize, Option<usize>)],
        allowed: &mut Vec<Order>,
        meter: &mut Meter<'_>,
    ) -> Result<(), NoAnswer> {
        if begun.len() == stores.len() {
            meter.step()?;
            let edges = self.edges(address, begun);
            if self.is_coherent(address, &edges) && self.is_atomic(begun) {
                // A growing vector may have room for twice as many.
                let bytes = 2 * size_of::<Order>() + 2 * size_of_val(&*edges) + size_of_val(begun.as_slice());
                allowed.push(Order { address, stores: begun.clone(), edges });
                meter.hold(bytes)?;
            }
            return Ok(());
        }
        let last = begun.last().copied();
        let follows = chains.iter().find(|&&(store, source)| source == last && !begun.contains(&store));
        for &store in stores {
            let waits = chains.iter().any(|&(each, source)| each == store && source != last);
            if waits || follows.is_some_and(|&(next, _)| next != store) {
                continue;
            }
            // The stores of one hart to one address stay in its order.
            let hart = self.events[store].hart;
            let is_next = |&&each: &&usize| self.events[each].hart == hart && !begun.contains(&each);
            if stores.iter().find(is_next) == Some(&store) {
                begun.push(store);
                self.order(address, begun, stores, chains, allowed, meter)?;
                begun.pop();
            }
        }
        Ok(())
    }

    /// `co`, from each store to the next, and `fr`, from each load to the store after the one that it
    /// returns.
    fn edges(&self, address: u64, order: &[usize]) -> Vec<(usize, usize)> {
        let mut edges = order.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
        for &load in self.loads.iter().filter(|&&load| self.events[load].access.address == address) {
            let after = match self.sources[load] {
                Some(source) => order.iter().position(|&each| each == source).map_or(0, |place| place + 1),
                None => 0,
            };
            // An atomic operation reads before it writes itself, and then comes before what follows it.
            if let Some(&next) = order.get(after)
                && next != load
            {
                edges.push((load, next));
            }
        }
        edges
    }

    fn is_coherent(&self, address: u64, edges: &[(usize, usize)]) -> bool {
        let mut graph = vec![0; self.events.len()];
        for (hart, &first) in self.harts.iter().zip(&self.firsts) {
            for (index, &after) in hart.same_address.iter().enumerate() {
                graph[first + index] |= after << first;
            }
        }
        for &load in &self.loads {
            if let Some(store) = self.sources[load]
                && self.events[load].access.address == address
            {
                graph[store] |= 1 << load;
            }
        }
        for &(before, after) in edges {
            graph[before] |= 1 << after;
        }
        is_acyclic(&graph)
    }

    /// Whether each `sc` follows what its `lr` returned without another hart's store between them.
    fn is_atomic(&self, order: &[usize]) -> bool {
        order.iter().enumerate().all(|(place, &store)| {
            let Event { hart, access } = self.events[store];
            let Some(reserved) = access.paired else { return true };
            let source = self.sources[self.firsts[hart] + reserved];
            let begin = source.and_then(|source| order.iter().position(|&each| each == source));
            let begin = begin.map_or(0, |begin| begin + 1);
            order
                .get(begin..place)
                .is_none_or(|between| between.iter().all(|&each| self.events[each].hart == hart))
        })
    }

    /// One order for each address, as long as there is no cycle.
    fn combine(
        &self,
        orders: &[Vec<Order>],
        graph: Graph,
        last: &mut Last,
        meter: &mut Meter<'_>,
        visitor: &mut EndVisitor<'_, '_>,
    ) -> Result<(), NoAnswer> {
        let Some((choices, others)) = orders.split_first() else {
            visitor.visit(last);
            return Ok(());
        };
        for order in choices {
            meter.step()?;
            let stored = order.stores.last().and_then(|&store| self.events[store].access.written);
            last.insert(order.address, stored.unwrap_or_default());
            if others.is_empty() && !visitor.wants(last) {
                continue;
            }
            let mut graph = graph.clone();
            for &(before, after) in &order.edges {
                graph[before] |= 1 << after;
            }
            if is_acyclic(&graph) {
                self.combine(others, graph, last, meter, visitor)?;
            }
        }
        if let Some(order) = choices.first() {
            last.remove(&order.address);
        }
        Ok(())
    }
}

/// Whether no event comes before itself: those that come before none that is left are taken away until none
/// is left.
fn is_acyclic(graph: &[u64]) -> bool {
    let mut left = if graph.len() == 64 { u64::MAX } else { (1 << graph.len()) - 1 };
    while left != 0 {
        let mut free = 0;
        let mut open = left;
        while open != 0 {
            let event = open.trailing_zeros();
            open &= open - 1;
            if graph[event as usize] & left == 0 {
                free |= 1 << event;
            }
        }
        if free == 0 {
            return false;
        }
        left &= !free;
    }
    true
}
