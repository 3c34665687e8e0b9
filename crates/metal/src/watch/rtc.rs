//! The machine's clock that runs on a battery, or is kept by a hypervisor (rtc(4)): it goes on where all
//! others are stopped with a virtual machine.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::ClockId;

use crate::clock::nanoseconds;

/// Its device.
const DEVICE: &str = "/dev/rtc0";

/// `RTC_UIE_ON`, `RTC_UIE_OFF` and `RTC_RD_TIME` of `include/uapi/linux/rtc.h`.
const UPDATE_ON: libc::c_ulong = 0x7003;
const UPDATE_OFF: libc::c_ulong = 0x7004;
const READ_TIME: libc::c_ulong = 0x8024_7009;

/// The clock, which interrupts when a second of it begins.
#[derive(Debug)]
pub struct Rtc {
    device: File,
    /// For how many times nothing came.
    silent: u32,
}

/// So often nothing comes where it is not armed any more.
const SILENT: u32 = 8;

/// When a second of it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which one it was, counted within a day.
    pub second: u64,
    /// Nanoseconds of the monotonic clock.
    pub monotonic: u64,
}

impl Rtc {
    /// Opens it.
    ///
    /// # Errors
    /// Why not: there is none, only root may, or somebody else has it.
    pub fn open() -> Result<Self, String> {
        let failed = |error: io::Error| format!("{DEVICE}: {error}");
        let clock = Self { device: File::open(DEVICE).map_err(failed)?, silent: 0 };
        clock.order(UPDATE_ON).map_err(failed)?;
        Ok(clock)
    }

    fn order(&self, request: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the two requests that this is called with have no argument (rtc(4)).
        match unsafe { libc::ioctl(self.device.as_raw_fd(), request as _, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The next second, if it begins within 200 ms.
    pub fn edge(&mut self) -> Option<Edge> {
        let patience = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let mut waits = [PollFd::new(&self.device, PollFlags::IN)];
        if poll(&mut waits, Some(&patience)).ok()? == 0 {
            // Linux has it interrupt at one second at a time (`drivers/rtc/interface.c`). Who was stopped
            // then waits for that for a day.
            self.silent += 1;
            if self.silent.is_multiple_of(SILENT) {
                let _ = self.order(UPDATE_OFF);
                let _ = self.order(UPDATE_ON);
            }
            return None;
        }
        self.silent = 0;
        let monotonic = nanoseconds(ClockId::Monotonic);
        let mut interrupts = [0; size_of::<libc::c_ulong>()];
        rustix::io::read(&self.device, &mut interrupts).ok()?;
        let mut time = [0_i32; 9];
        // SAFETY: `struct rtc_time` is nine integers, and `time` is live and writable.
        if unsafe { libc::ioctl(self.device.as_raw_fd(), READ_TIME as _, time.as_mut_ptr()) } != 0 {
            return None;
        }
        let [seconds, minutes, hours, ..] = time;
        let second = u64::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
        Some(Edge { second, monotonic })
    }
}

impl Drop for Rtc {
    fn drop(&mut self) {
        let _ = self.order(UPDATE_OFF);
    }
}
