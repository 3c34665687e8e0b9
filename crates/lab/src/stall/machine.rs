//! The kernel module that stops the machine (`kmod/stop_machine`).

use std::fs;
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::machine::integer;

use super::{LONGEST, Stopper, refused};
use crate::experiment::Unfit;

const DEVICE: &str = "/dev/stop_machine";

pub(super) struct Module;

impl Module {
    pub(super) fn open(duration: Duration) -> Result<Self, Unfit> {
        let opened = fs::OpenOptions::new().write(true).open(DEVICE);
        opened.map_err(|error| {
            refused(
                format!("open {DEVICE}: {error}"),
                "the kernel module stop_machine, loaded by the machine's owner, and root",
                "see docs/kmod.md; `tenbin stall cpu all` holds every CPU without it",
            )
        })?;
        if !duration.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(Unfit::Usage("the module stops for whole milliseconds".into()));
        }
        Ok(Self)
    }
}

impl Stopper for Module {
    fn stop(&mut self, duration: Duration) -> Result<Duration, Fault> {
        let fault = |error| Fault::system(format!("stop the machine by {DEVICE}"), error);
        let force = if duration > LONGEST { " force" } else { "" };
        fs::write(DEVICE, format!("{}{force}", duration.as_millis())).map_err(fault)?;
        let text = fs::read_to_string(DEVICE).map_err(fault)?;
        let achieved = text.lines().find_map(|line| line.strip_prefix("achieved_ns"));
        let nanoseconds = achieved.and_then(|value| integer(value).ok());
        let answer = nanoseconds.ok_or_else(|| fault(std::io::Error::other("it does not say for how long")));
        answer.map(Duration::from_nanos)
    }
}
