//! A terminal that nobody looks at, for programs that do other things when they write to one.

use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::fault::Fault;

/// A pseudo-terminal (pty(7)): what the program writes to is the second; the first must stay open as long,
/// and reads it.
///
/// # Errors
/// A fault where the machine has no `/dev/ptmx`, or no terminal left.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Fault> {
    let fault = |error| Fault::system("open a pseudo-terminal", error);
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let outside = openpt(flags | OpenptFlags::CLOEXEC).map_err(fault)?;
    grantpt(&outside).map_err(fault)?;
    unlockpt(&outside).map_err(fault)?;
    let inside = ioctl_tiocgptpeer(&outside, flags | OpenptFlags::CLOEXEC).map_err(fault)?;
    Ok((outside, inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_inside_are_read_outside_and_inside_is_a_terminal() {
        let (outside, inside) = pair().unwrap();
        assert!(rustix::termios::isatty(&inside));
        assert_eq!(rustix::io::write(&inside, b"y\n").unwrap(), 2);
        let mut bytes = [0; 8];
        let read = rustix::io::read(&outside, &mut bytes).unwrap();
        // A terminal puts the carriage back, too.
        assert_eq!(&bytes[..read], b"y\r\n");
    }
}
