//! Limits the size of an answer while it is written.

use crate::error::{Error, Result};

/// From this size on, the memory of an answer grows by [`LARGE_GROWTH`] instead of 2.
const LARGE_BYTES: usize = 1 << 20;

/// Growth factor of large answers. Unwritten memory costs nothing, but each replaced block takes memory until the
/// allocator returns it. Doubling would leave as much memory behind as the answer holds.
const LARGE_GROWTH: usize = 8;

/// The size limit of an answer, checked while it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes that the request allows for the answers of all its searches.
    bytes_max: usize,
    /// Bytes of the answer before the checked part.
    bytes_before: usize,
}

impl Bounds {
    /// `bytes_max`: limit of the request; `None` for no limit.
    pub fn new(bytes_max: Option<usize>) -> Self {
        Self { bytes_max: bytes_max.unwrap_or(usize::MAX), bytes_before: 0 }
    }

    /// Returns the limit for a part of the answer that follows `bytes_before` bytes.
    pub fn after(self, bytes_before: usize) -> Self {
        Self { bytes_before, ..self }
    }

    /// # Errors
    /// `answer_too_large` if an answer of `bytes` exceeds the limit.
    pub fn check(&self, bytes: usize) -> Result<()> {
        if self.bytes_before.saturating_add(bytes) <= self.bytes_max {
            return Ok(());
        }
        let message = format!(
            "the answer would have more than {} bytes; ask for fewer hits, attributes, facets or searches at a time",
            self.bytes_max
        );
        Err(Error::user("answer_too_large", message))
    }

    /// Appends a part to the answer. The memory of the answer grows in steps up to the limit.
    ///
    /// # Errors
    /// `answer_too_large`, with nothing appended.
    pub fn append(&self, part: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let bytes = out.len() + part.len();
        self.check(bytes)?;
        if bytes > out.capacity() {
            let growth = if bytes < LARGE_BYTES { 2 } else { LARGE_GROWTH };
            let capacity = out.capacity().saturating_mul(growth).min(self.bytes_left()).max(bytes);
            out.reserve_exact(capacity - out.len());
        }
        out.extend_from_slice(part);
        Ok(())
    }

    /// Bytes that the answer may have.
    pub fn bytes_left(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes_before)
    }
}
