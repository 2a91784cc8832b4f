//! Here is an answer being written: may it grow further?

use crate::error::{Error, Result};

/// Bytes from which on the memory of an answer grows by [`LARGE_GROWTH`].
const LARGE_BYTES: usize = 1 << 20;

/// The system gives memory only where it is written to, while each block that is left behind takes memory until the
/// allocator gives it back: doubling a large answer would leave as much behind as it holds.
const LARGE_GROWTH: usize = 8;

/// The bound on the size of an answer, checked while it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes that the request allows for its answer, that of all its searches.
    bytes_max: usize,
    /// Bytes of the answer before the part that is checked.
    bytes_before: usize,
}

impl Bounds {
    /// `bytes_max`: of the request; `None` for no limit.
    pub fn new(bytes_max: Option<usize>) -> Self {
        Self { bytes_max: bytes_max.unwrap_or(usize::MAX), bytes_before: 0 }
    }

    /// The bound for a part of the answer that follows `bytes_before` bytes.
    pub fn after(self, bytes_before: usize) -> Self {
        Self { bytes_before, ..self }
    }

    /// # Errors
    /// `answer_too_large`, if an answer of so many bytes exceeds the bound.
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

    /// Appends a part to the answer, whose memory grows in steps up to the bound.
    ///
    /// # Errors
    /// `answer_too_large`, without a byte appended.
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
