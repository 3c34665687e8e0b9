//! Whether the memory of a guest goes back to its host when it is free.

use std::fs;

/// A folder for each device that a host offers by virtio.
const DEVICES: &str = "/sys/bus/virtio/devices";

/// Whether a host takes this guest's free pages back (free page reporting); none where there is no telling.
///
/// A page that the host took must be provided by it again when it is next touched: that is work of the host
/// inside a fault of the guest. Devices and features are those of the Virtual I/O Device specification,
/// section 5.5 (`VIRTIO_BALLOON_F_PAGE_REPORTING`).
pub fn takes_free_pages() -> Option<bool> {
    let devices = fs::read_dir(DEVICES).ok()?;
    let read = |path: std::path::PathBuf| fs::read_to_string(path).unwrap_or_default();
    Some(
        devices.flatten().any(|device| {
            reports(&read(device.path().join("device")), &read(device.path().join("features")))
        }),
    )
}

/// Whether a device of this number, with these features as a text of bits from the lowest on, is told of free
/// pages.
fn reports(device: &str, features: &str) -> bool {
    const BALLOON: u32 = 5;
    const PAGE_REPORTING: usize = 5;
    let number = device.trim().strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number == Some(BALLOON) && features.as_bytes().get(PAGE_REPORTING) == Some(&b'1')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balloon_with_free_page_reports_is_known_by_features() {
        let cases = [
            ("0x0005\n", "01100101000000000000000000000000\n", true),
            ("0x0005\n", "01100001000000000000000000000000\n", false),
            ("0x0005\n", "011\n", false),
            ("0x0001\n", "11111111111111111111111111111111\n", false),
            ("", "", false),
        ];
        for (device, features, expected) in cases {
            assert_eq!(reports(device, features), expected, "{device} {features}");
        }
    }
}
