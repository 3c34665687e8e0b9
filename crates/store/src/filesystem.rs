//! Whether a folder lies on this machine's own disk.
//!
//! SQLite's write-ahead log shares memory between the processes that use a file, so all of them
//! must run under one kernel (<https://sqlite.org/wal.html>, section 1). Over a network the
//! rollback journal is used instead.

use std::path::Path;

/// `f_type` of filesystems whose files other machines may have open: statfs(2), linux/magic.h
/// and the sources of those that are not in it.
const NETWORK: [(u32, &str); 22] = [
    (0x0000_6969, "NFS"),
    (0x0000_517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    // sshfs and its like; which one, the kernel does not say.
    (0x6573_5546, "FUSE"),
    (0x0000_564c, "NCP"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS of the kernel"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x2003_0528, "OrangeFS"),
    (0x1983_0326, "BeeGFS"),
    (0x013d_1711, "ACFS"),
    (0xaad7_aaea, "PanFS"),
    (0x7c7c_6673, "Parallels shared folder"),
    (0x786f_4256, "VirtualBox shared folder"),
    (0xbacb_acbc, "VMware shared folder"),
];

/// Whether other machines may have the files in `folder` open. A folder that cannot be asked
/// counts as shared, which is slower and never wrong.
pub(crate) fn is_shared(folder: &Path) -> bool {
    rustix::fs::statfs(folder).map_or(true, |status| is_network(status.f_type as u32))
}

fn is_network(magic: u32) -> bool {
    NETWORK.iter().any(|(network, _)| *network == magic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_told_from_disks() {
        assert!(is_network(0x6969) && is_network(0xff53_4d42));
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert!(!is_network(local));
        }
        assert!(is_shared(Path::new("/no/such/folder")));
        assert!(!is_shared(Path::new("/proc")));
    }
}
