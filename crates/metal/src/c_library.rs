//! The C library that is linked into this program.

use std::ffi::CStr;

/// Its name and version: `glibc 2.36`. What a question times through it (`puts`, `fork`, `posix_spawn`) is
/// that library's.
pub fn c_library() -> String {
    // SAFETY: it takes nothing and may be called by any thread at any time (gnu_get_libc_version(3)).
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: the library returns a string of its own that ends with 0 and is never changed or freed.
    let version = unsafe { CStr::from_ptr(version) };
    format!("glibc {}", version.to_string_lossy())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_has_a_version() {
        let name = super::c_library();
        let version = name.strip_prefix("glibc ").expect("the targets of tenbin have glibc");
        let parts: Vec<u32> = version.split('.').map(|part| part.parse().expect("a number")).collect();
        assert!(parts >= vec![2, 28], "{name}");
    }
}
