//! What harts do when they are let go behind a run: whether those that cannot arrive do not.

#![expect(clippy::disallowed_methods, reason = "harts run freely for a time")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenbin_boot::{FreeRun, Stood};
use tenbin_model::order;

use super::{Aim, Follower, Parted};
use crate::debugger::Harts;
use crate::replay::code::CodeKind;

/// How many instructions a hart may take to come round to where it was.
const ROUND: u32 = 4096;

/// How many pieces of a free run may pass in which somebody arrives: each hart does it once.
const PIECES: u32 = 16;

/// How long harts may take to come round in a piece of a free run. They need thousandths of this, unless the
/// host has no time for them.
const TURN: Duration = Duration::from_secs(1);

impl<H: Harts> Follower<'_, H> {
    /// Lets all harts run freely that have not arrived, in pieces of this length, until nobody arrives in
    /// one. That says nothing of a hart that the host gave no turn, so a piece is the last one only if every
    /// hart that is awake comes round in it. `None` if all have arrived.
    pub(in crate::replay) fn set_free(
        &mut self,
        goals: &[u64],
        piece: Duration,
    ) -> Result<Option<FreeRun>, Parted> {
        // What was performed before its turn must not be performed again.
        for hart in 0..self.early.len() as u32 {
            self.walk(hart, Aim::Behind)?;
        }
        let mut stood = Vec::new();
        for hart in 0..self.early.len() as u32 {
            let there = goals.contains(&self.machine.pc(hart)?);
            stood.push(if there { Stood::Arrived } else { Stood::WentOn });
        }
        for &goal in goals {
            self.machine.set_breakpoint(goal)?;
        }
        let mut pieces = 0;
        loop {
            pieces += 1;
            let arrived = self.run_freely(goals, piece, &mut stood)?;
            // The first piece is never the last one: what arrives late does so in the first.
            let last = pieces > 1 && !arrived && self.come_round(goals, &mut stood)?;
            if stood.iter().all(|it| matches!(it, Stood::Arrived | Stood::ArrivedLater)) {
                return Ok(None);
            }
            if last {
                break;
            }
            if pieces == PIECES && arrived {
                let why = format!("a hart still arrived in piece {pieces} of the free run");
                return Err(Parted::Departed { step: None, why });
            }
            if pieces == PIECES {
                return Err(Parted::Cannot(format!(
                    "in {pieces} pieces of the free run some hart never came round to where it was, so it is not known whether the \
                     host let it run"
                )));
            }
        }
        for &goal in goals {
            self.machine.clear_breakpoint(goal)?;
        }
        for (hart, stood) in (0..).zip(&mut stood) {
            if *stood == Stood::WentOn {
                *stood = self.stands(hart)?;
            }
        }
        Ok(Some(FreeRun { seconds: piece.as_secs_f64(), pieces, harts: stood }))
    }

    /// One piece of a free run: whether somebody arrived.
    fn run_freely(&mut self, goals: &[u64], piece: Duration, stood: &mut [Stood]) -> Result<bool, Parted> {
        let until = Instant::now() + piece;
        let mut arrived = false;
        loop {
            let running = (0..).zip(&*stood).filter(|(_, it)| **it == Stood::WentOn);
            let running = running.map(|(hart, _)| hart).collect::<Vec<u32>>();
            let left = until.saturating_duration_since(Instant::now());
            if running.is_empty() || left.is_zero() {
                return Ok(arrived);
            }
            let Some(hart) = self.machine.run(&running, left)? else { return Ok(arrived) };
            let pc = self.machine.pc(hart)?;
            match stood.get_mut(hart as usize) {
                Some(stood) if goals.contains(&pc) => *stood = Stood::ArrivedLater,
                _ => {
                    let why = format!("hart {hart} stopped at {pc:#x}, which is not a goal");
                    return Err(Parted::Departed { step: None, why });
                }
            }
            arrived = true;
        }
    }

    /// Lets every hart that is awake come round to where it is; the others go on meanwhile. Whether all did,
    /// and nobody arrived.
    fn come_round(&mut self, goals: &[u64], stood: &mut [Stood]) -> Result<bool, Parted> {
        let until = Instant::now() + TURN;
        let free = (0_u32..).zip(&*stood).filter(|(_, it)| **it == Stood::WentOn).map(|(hart, _)| hart);
        let mut running = free.collect::<Vec<_>>();
        // Where each is to come again.
        let mut places = BTreeMap::new();
        for &hart in &running {
            let pc = self.machine.pc(hart)?;
            if !self.sleeps_at(pc) {
                places.insert(hart, pc);
            }
        }
        for place in order::set(places.values().copied()) {
            self.machine.set_breakpoint(place)?;
        }
        // Whoever stands at a breakpoint would stop there again at once.
        for &hart in places.keys() {
            self.machine.step(hart)?;
        }
        let mut arrived = false;
        while !places.is_empty() && !arrived {
            let left = until.saturating_duration_since(Instant::now());
            let stop = if left.is_zero() { None } else { self.machine.run(&running, left)? };
            let Some(hart) = stop else { break };
            let pc = self.machine.pc(hart)?;
            if goals.contains(&pc) {
                if let Some(stood) = stood.get_mut(hart as usize) {
                    *stood = Stood::ArrivedLater;
                }
                arrived = true;
            } else if places.get(&hart) == Some(&pc) {
                places.remove(&hart);
                if places.values().any(|&place| place == pc) {
                    self.machine.step(hart)?;
                } else {
                    self.machine.clear_breakpoint(pc)?;
                }
            } else if !places.contains_key(&hart) {
                // It has come round, and would keep the others from doing so by stopping them.
                running.retain(|&other| other != hart);
            } else {
                self.machine.step(hart)?;
            }
        }
        let all = places.is_empty() && !arrived;
        for place in order::set(places.into_values()) {
            self.machine.clear_breakpoint(place)?;
        }
        Ok(all)
    }

    /// Whether a hart sleeps that is here: it is behind its `wfi`, which has four bytes, or before it, and
    /// cannot be stepped.
    fn sleeps_at(&self, pc: u64) -> bool {
        let waits = |pc: u64| (self.code)(pc).is_some_and(|code| code.kind == CodeKind::Wait);
        waits(pc) || waits(pc.wrapping_sub(4))
    }

    /// Where a hart is that ran freely.
    fn stands(&mut self, hart: u32) -> Result<Stood, Parted> {
        let end = self.run.ends[hart as usize].pc.0;
        let waits = |pc: u64| (self.code)(pc).is_some_and(|code| code.kind == CodeKind::Wait);
        for _ in 0..ROUND {
            let pc = self.machine.pc(hart)?;
            if pc == end && !waits(pc) {
                return Ok(Stood::GoesRound);
            }
            if self.sleeps_at(pc) {
                return Ok(Stood::Sleeps);
            }
            self.machine.step(hart)?;
        }
        Ok(Stood::WentOn)
    }
}
