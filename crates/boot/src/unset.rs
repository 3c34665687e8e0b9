//! Values that stand for what nobody has set.

/// What a register holds before anybody sets it; but x0, and a0, which holds the hart's number as boot
/// loaders leave it. Any number would do: code that looks at it is wrong already.
pub const UNSET: u64 = 0x5a5a_dead_0000_5a5a;

/// What stands for the unspecified value that a control and status register holds at first: this, and its
/// number.
pub(crate) const UNSET_CONTROL: u64 = 0x5a5a_dead_c5c5_0000;

/// The number of the control and status register whose unspecified first value this stands for, if it is one.
pub(crate) const fn unset_control(value: u64) -> Option<u16> {
    if value & !0xfff == UNSET_CONTROL { Some((value & 0xfff) as u16) } else { None }
}
