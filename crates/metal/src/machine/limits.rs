//! How much of the machine there is, and how much of it the control group leaves to this process.

use tenbin_model::{Bytes, Order};

use super::formats::{integer, meminfo, size};
use super::root::{Reading, Root};

/// Memory of the machine, `MemTotal` (`Documentation/filesystems/proc.rst`): what the firmware left.
pub(super) fn total(root: &Root) -> Reading<Bytes> {
    root.parsed("/proc/meminfo", |text| meminfo(text, "MemTotal"))
}

/// `MemAvailable`, or what the control group leaves where that is less.
///
/// A group that cannot be read takes nothing off: then the machine's own word is all there is.
pub(super) fn available(root: &Root) -> Reading<Bytes> {
    let available = root.parsed("/proc/meminfo", |text| meminfo(text, "MemAvailable"))?;
    Ok(match left(root) {
        Ok(Some(left)) => available.min(left),
        _ => available,
    })
}

/// What the group that is nearest to its limit, of this process's own and those above it, has left: the limit
/// less what is used and cannot simply be dropped. `None` is no limit.
///
/// The kernel drops files that nobody used of late before it refuses memory, so those do not count as used:
/// `inactive_file` of `memory.stat` (`Documentation/admin-guide/cgroup-v2.rst`), and with version 1
/// `total_inactive_file`, which has the groups below in it as the usage has
/// (`Documentation/admin-guide/cgroup-v1/memory.rst`).
fn left(root: &Root) -> Reading<Option<Bytes>> {
    let group = Group::of_this_process(root, "memory")?;
    let (used, droppable) = match group.version {
        Version::One => ("memory.usage_in_bytes", "total_inactive_file"),
        Version::Two => ("memory.current", "inactive_file"),
    };
    let mut least: Option<Bytes> = None;
    for folder in &group.folders {
        let Some(limit) = limit_of(root, folder, group.version)? else { continue };
        // A group of which only the limit can be read has all of it left, as far as one knows.
        let used = root.parsed(&format!("{folder}/{used}"), size).unwrap_or_default();
        let droppable = root.parsed(&format!("{folder}/memory.stat"), |text| statistic(text, droppable));
        let kept = used.0.saturating_sub(droppable.unwrap_or_default().0);
        let left = Bytes(limit.0.saturating_sub(kept));
        least = Some(least.map_or(left, |least| least.min(left)));
    }
    Ok(least)
}

/// The folder of this process's control group for `controller`, and those above it up to the visible root.
///
/// # Errors
/// Why there is none to be read.
pub fn control_groups(root: &Root, controller: &str) -> Reading<Vec<String>> {
    Group::of_this_process(root, controller).map(|group| group.folders)
}

/// The number of bytes in a line `name bytes` of a `memory.stat`.
fn statistic(text: &str, name: &str) -> Reading<Bytes> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    integer(value.ok_or_else(|| format!("no line `{name}`"))?).map(Bytes)
}

/// The folders `hugepages-2048kB` (`Documentation/admin-guide/mm/hugetlbpage.rst`), ascending.
pub(super) fn huge_page_sizes(root: &Root) -> Reading<Vec<Bytes>> {
    let names = root.names("/sys/kernel/mm/hugepages")?;
    let kib = |name: &String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    let mut sizes: Vec<Bytes> =
        names.iter().filter_map(kib).filter_map(|kib| kib.checked_mul(1024)).map(Bytes).collect();
    sizes.order();
    Ok(sizes)
}

/// The first number of `/proc/loadavg`.
pub(super) fn load(root: &Root) -> Reading<f64> {
    root.parsed("/proc/loadavg", |text| {
        let first = text.split_whitespace().next().unwrap_or_default();
        let load = first.parse::<f64>().ok().filter(|load| load.is_finite() && *load >= 0.0);
        load.ok_or_else(|| format!("`{first}` is not a load"))
    })
}

/// CPUs' worth of time that the tightest group from this process's own up to the visible root
/// allows; `None` is no limit. Version 2: `cpu.max` (`Documentation/admin-guide/cgroup-v2.rst`);
/// version 1: `cpu.cfs_quota_us` (`Documentation/scheduler/sched-bwc.rst`). Limits above a container's own
/// root cannot be seen from inside.
pub(super) fn cpu_quota(root: &Root) -> Reading<Option<f64>> {
    let group = Group::of_this_process(root, "cpu")?;
    let quotas = group.folders.iter().filter_map(|folder| match group.version {
        Version::One => quota_one(root, folder).transpose(),
        Version::Two => {
            let path = format!("{folder}/cpu.max");
            root.exists(&path).then(|| root.parsed(&path, quota_two)).and_then(Result::transpose)
        }
    });
    let quotas = quotas.collect::<Reading<Vec<f64>>>()?;
    Ok(quotas.into_iter().reduce(f64::min))
}

/// `cpu.max`: quota and period in microseconds, `max 100000` for no limit.
fn quota_two(text: &str) -> Reading<Option<f64>> {
    let (quota, period) = text.split_once(' ').ok_or_else(|| format!("`{text}` is not two words"))?;
    if quota == "max" { Ok(None) } else { share(integer(quota)?, integer(period)?).map(Some) }
}

fn quota_one(root: &Root, folder: &str) -> Reading<Option<f64>> {
    let path = format!("{folder}/cpu.cfs_quota_us");
    if !root.exists(&path) {
        return Ok(None);
    }
    let quota = root.text(&path)?;
    if quota == "-1" {
        return Ok(None);
    }
    let quota = integer(&quota).map_err(|why| format!("{path}: {why}"))?;
    let period = root.parsed(&format!("{folder}/cpu.cfs_period_us"), integer)?;
    share(quota, period).map(Some)
}

fn share(quota: u64, period: u64) -> Reading<f64> {
    if period == 0 { Err("a period of 0".into()) } else { Ok(quota as f64 / period as f64) }
}

/// The most memory that the tightest group allows; `None` is no limit. Version 2: `memory.max`;
/// version 1: `memory.limit_in_bytes`.
pub(super) fn memory(root: &Root) -> Reading<Option<Bytes>> {
    let group = Group::of_this_process(root, "memory")?;
    let limits = group.folders.iter().map(|folder| limit_of(root, folder, group.version));
    let limits = limits.collect::<Reading<Vec<Option<Bytes>>>>()?;
    Ok(limits.into_iter().flatten().min())
}

/// The limit of the group at `folder`; none where there is none, as at the root of all groups.
fn limit_of(root: &Root, folder: &str, version: Version) -> Reading<Option<Bytes>> {
    let name = match version {
        Version::One => "memory.limit_in_bytes",
        Version::Two => "memory.max",
    };
    let path = format!("{folder}/{name}");
    if root.exists(&path) { root.parsed(&path, memory_limit) } else { Ok(None) }
}

/// Version 1 writes the largest number of whole pages for "no limit": just below 2^63.
fn memory_limit(text: &str) -> Reading<Option<Bytes>> {
    const NEAR_NO_LIMIT: Bytes = Bytes(1 << 62);
    match text {
        "max" => Ok(None),
        text => size(text).map(|limit| (limit < NEAR_NO_LIMIT).then_some(limit)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The control group of this process for one controller.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    version: Version,
    /// Its folder, and those above it up to the visible root.
    folders: Vec<String>,
}

impl Group {
    /// A controller is on a version 1 hierarchy where a line of `/proc/self/cgroup` names it, and
    /// otherwise on the one of version 2. Where that is mounted is in `/proc/self/mountinfo`.
    fn of_this_process(root: &Root, controller: &str) -> Reading<Self> {
        let groups = root.parsed("/proc/self/cgroup", |text| own_group(text, controller))?;
        let (version, path) = groups;
        let mount = root.parsed("/proc/self/mountinfo", |text| mount_of(text, version, controller))?;
        let folders = climb(&mount, &path).ok_or_else(|| {
            format!("/proc/self/cgroup: the group {path} lies outside what is mounted here")
        })?;
        match folders.first() {
            Some(own) if root.exists(own) => Ok(Self { version, folders }),
            _ => Err(format!("{}: no such folder", folders.first().map_or("", String::as_str))),
        }
    }
}

/// Lines are `hierarchy:controllers:path`; version 2 has hierarchy 0 and no controllers.
fn own_group(text: &str, controller: &str) -> Reading<(Version, String)> {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let one = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == controller));
    let two = lines().find(|(controllers, _)| controllers.is_empty());
    let group = one.map(|line| (Version::One, line)).or(two.map(|line| (Version::Two, line)));
    let (version, (_, path)) = group.ok_or_else(|| format!("no group for `{controller}`"))?;
    Ok((version, path.to_owned()))
}

/// A mounted hierarchy: which of its groups is visible at which folder.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    group: String,
    folder: String,
}

/// Lines are `… root mountpoint options [optional fields] - type source superoptions`
/// (`Documentation/filesystems/proc.rst`).
fn mount_of(text: &str, version: Version, controller: &str) -> Reading<Mount> {
    let mounts = text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (group, folder) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let fits = match version {
            Version::One => kind == "cgroup" && options.split(',').any(|name| name == controller),
            Version::Two => kind == "cgroup2",
        };
        fits.then(|| Mount { group: group.to_owned(), folder: folder.to_owned() })
    });
    mounts.into_iter().next().ok_or_else(|| format!("no hierarchy of control groups for `{controller}`"))
}

/// The folder of `group` and those above it, inside `mount`.
fn climb(mount: &Mount, group: &str) -> Option<Vec<String>> {
    let below = group.strip_prefix(mount.group.trim_end_matches('/'))?;
    if !(below.is_empty() || below.starts_with('/')) || below.split('/').any(|name| name == "..") {
        return None;
    }
    let mut folder = format!("{}{}", mount.folder.trim_end_matches('/'), below.trim_end_matches('/'));
    let mut folders = Vec::new();
    while folder.len() > mount.folder.trim_end_matches('/').len() {
        folders.push(folder.clone());
        folder.truncate(folder.rfind('/')?);
    }
    folders.push(mount.folder.clone());
    Some(folders)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn quotas_in_both_versions() {
        assert_eq!(quota_two("max 100000"), Ok(None));
        assert_eq!(quota_two("150000 100000"), Ok(Some(1.5)));
        assert!(quota_two("150000").is_err());
        assert!(quota_two("150000 0").is_err());
    }

    #[test]
    fn the_highest_number_of_pages_is_no_limit() {
        assert_eq!(memory_limit("9223372036854771712"), Ok(None));
        assert_eq!(memory_limit("max"), Ok(None));
        assert_eq!(memory_limit("1073741824"), Ok(Some(Bytes(1 << 30))));
    }

    /// What is available where `MemAvailable` is 64 GiB and these files are there.
    fn available_with(files: &[(&str, &str)]) -> Reading<Bytes> {
        let folder = tempfile::tempdir().unwrap();
        let meminfo = ("/proc/meminfo", "MemTotal: 134217728 kB\nMemAvailable:   67108864 kB\n");
        for (path, text) in files.iter().copied().chain([meminfo]) {
            let place = folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        available(&Root::new(folder.path()))
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn memory_of_groups_is_unavailable_but_for_cached_files() {
        let two = [
            ("/proc/self/cgroup", "0::/pod/box\n"),
            ("/proc/self/mountinfo", "41 31 0:38 / /cg rw,relatime - cgroup2 cgroup2 rw\n"),
            ("/cg/pod/box/memory.max", "17179869184\n"),
            ("/cg/pod/box/memory.current", "4294967296\n"),
            ("/cg/pod/box/memory.stat", "anon 1\ninactive_file 1073741824\nactive_file 7\n"),
        ];
        assert_eq!(available_with(&two), Ok(Bytes(13 * GIB)));
        let without = |name: &str| -> Vec<(&str, &str)> {
            two.iter().copied().filter(|(path, _)| !path.ends_with(name)).collect()
        };
        assert_eq!(available_with(&without("memory.stat")), Ok(Bytes(12 * GIB)));
        assert_eq!(available_with(&without("memory.current")), Ok(Bytes(16 * GIB)));
        assert_eq!(available_with(&without("memory.max")), Ok(Bytes(64 * GIB)));
        assert_eq!(available_with(&without("cgroup")), Ok(Bytes(64 * GIB)));
        // A group above has a higher limit, and less of it left.
        let above = [
            ("/cg/pod/memory.max", "34359738368\n"),
            ("/cg/pod/memory.current", "30064771072\n"),
            ("/cg/pod/memory.stat", "inactive_file 0\n"),
        ];
        assert_eq!(available_with(&[&two[..], &above].concat()), Ok(Bytes(4 * GIB)));
        // More can be in use than a limit that was lowered later allows.
        let beyond = [("/cg/pod/memory.max", "4096\n"), ("/cg/pod/memory.current", "30064771072\n")];
        assert_eq!(available_with(&[&two[..], &beyond].concat()), Ok(Bytes(0)));
    }

    #[test]
    fn version_one_counts_the_groups_below_as_its_usage_does() {
        let one = [
            ("/proc/self/cgroup", "4:memory:/box\n0::/\n"),
            ("/proc/self/mountinfo", "32 31 0:29 / /cg/memory rw - cgroup cgroup rw,memory\n"),
            ("/cg/memory/box/memory.limit_in_bytes", "8589934592\n"),
            ("/cg/memory/box/memory.usage_in_bytes", "3221225472\n"),
            ("/cg/memory/box/memory.stat", "inactive_file 5\ntotal_inactive_file 1073741824\n"),
            ("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/cg/memory/memory.usage_in_bytes", "3221225472\n"),
        ];
        assert_eq!(available_with(&one), Ok(Bytes(6 * GIB)));
    }

    #[test]
    fn a_controller_of_version_one_wins_over_an_empty_version_two() {
        let groups = "4:memory:/a/b\n1:cpu,cpuacct:/x\n0::/y\n";
        assert_eq!(own_group(groups, "cpu"), Ok((Version::One, "/x".into())));
        assert_eq!(own_group("0::/y\n", "cpu"), Ok((Version::Two, "/y".into())));
        assert!(own_group("", "cpu").is_err());
        let one = mount_of(MOUNTS, Version::One, "cpu").unwrap();
        assert_eq!(one.folder, "/sys/fs/cgroup/cpu,cpuacct");
        assert_eq!(mount_of(MOUNTS, Version::Two, "cpu").unwrap().folder, "/sys/fs/cgroup/unified");
        assert!(mount_of(MOUNTS, Version::One, "memory").is_err());
    }

    #[test]
    fn climbing_stops_at_what_is_mounted() {
        let mount = |group: &str| Mount { group: group.into(), folder: "/cg".into() };
        assert_eq!(climb(&mount("/"), "/a/b").unwrap(), ["/cg/a/b", "/cg/a", "/cg"]);
        assert_eq!(climb(&mount("/"), "/").unwrap(), ["/cg"]);
        assert_eq!(climb(&mount("/docker/1"), "/docker/1/c").unwrap(), ["/cg/c", "/cg"]);
        assert_eq!(climb(&mount("/docker/1"), "/docker/12"), None);
        assert_eq!(climb(&mount("/"), "/../b"), None);
    }

    proptest! {
        #[test]
        fn odd_text_never_panics(text in "[-/a-z0-9:,. \n]{0,80}", group in "[/a.]{0,20}") {
            let _ = (own_group(&text, "cpu"), mount_of(&text, Version::One, "cpu"), quota_two(&text));
            let _ = climb(&Mount { group: group.clone(), folder: text.clone() }, &group);
            let _ = climb(&Mount { group: text, folder: group.clone() }, &group);
        }
    }
}
