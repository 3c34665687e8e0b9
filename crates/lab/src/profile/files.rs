//! Files by the names that a user knows them by.

use std::fs;

use tenbin_metal::profiler::FileName;

/// Where file systems are mounted.
pub(super) struct Mounts(String);

impl Mounts {
    /// Those that this process sees (proc(5), mountinfo); none where the kernel does not say.
    pub(super) fn here() -> Self {
        Self(fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    /// The name of a file. What is in no file system that is mounted, as `[eventfd]`, has its own.
    pub(super) fn named(&self, file: &FileName) -> String {
        match file {
            FileName::Given(path) => path.clone(),
            FileName::Nameless(kind) => match &**kind {
                "pipefs" => "a pipe".into(),
                "sockfs" => "a socket".into(),
                kind => kind.into(),
            },
            FileName::Placed { names, is_cut: true, .. } => format!("…/{}", names.join("/")),
            FileName::Placed { device, names, .. } => {
                let own = names.join("/");
                let Some((root, point)) = self.of(*device, &own) else { return own };
                let below = own.strip_prefix(root.trim_start_matches('/')).unwrap_or(&own);
                let path = format!("{}/{}", point.trim_end_matches('/'), below.trim_start_matches('/'));
                if path.len() > 1 { path.trim_end_matches('/').into() } else { path }
            }
        }
    }

    /// The part of a file system that is mounted and has this file, and where; the whole of it if that is.
    fn of(&self, device: u32, own: &str) -> Option<(&str, &str)> {
        let number = format!("{}:{}", device >> 20, device & 0xf_ffff);
        let mounts = self.0.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(2);
            let (device, root, point) = (words.next()?, words.next()?, words.next()?);
            (device == number).then_some((root, point))
        });
        let holding = mounts
            .filter(|(root, _)| format!("/{own}/").starts_with(&format!("{}/", root.trim_end_matches('/'))));
        holding.min_by_key(|(root, _)| root.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_of_where_they_are_mounted() {
        let mounts = Mounts(
            "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
             23 22 0:21 / /proc rw - proc proc rw\n\
             24 22 0:40 /inner /mnt/bound rw - btrfs /dev/vdb rw\n"
                .into(),
        );
        let placed = |device, names: &[&str], is_cut| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            mounts.named(&FileName::Placed { device, names, is_cut })
        };
        assert_eq!(placed(254 << 20, &["etc", "passwd"], false), "/etc/passwd");
        assert_eq!(placed(254 << 20, &[], false), "/");
        assert_eq!(placed(21, &["self", "stat"], false), "/proc/self/stat");
        assert_eq!(placed(21, &[], false), "/proc");
        assert_eq!(placed(40, &["inner", "file"], false), "/mnt/bound/file");
        // Nothing of it is mounted.
        assert_eq!(placed(40, &["innermost"], false), "innermost");
        assert_eq!(placed(14, &["[eventfd]"], false), "[eventfd]");
        assert_eq!(placed(254 << 20, &["deep", "below"], true), "…/deep/below");
        assert_eq!(mounts.named(&FileName::Nameless("sockfs".into())), "a socket");
        assert_eq!(mounts.named(&FileName::Given("../x".into())), "../x");
    }
}
