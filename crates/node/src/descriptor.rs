//! Duplicates file descriptors for threads that accept connections.

use napi_derive::napi;

/// Duplicates the descriptor of a socket, so that each thread can close its own. Fails on Windows.
#[napi]
pub fn duplicate_descriptor(descriptor: i32) -> napi::Result<i32> {
    #[cfg(unix)]
    {
        // SAFETY: `fcntl` with `F_DUPFD_CLOEXEC` reads no memory, and rejects a descriptor that is not open.
        let duplicate = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
        if duplicate != -1 {
            return Ok(duplicate);
        }
    }
    Err(napi::Error::from_reason(format!(
        "the descriptor {descriptor} cannot be duplicated: {}",
        std::io::Error::last_os_error()
    )))
}
