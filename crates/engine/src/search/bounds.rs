//! May an answer grow on?

use crate::error::{Error, Result};

/// What the answer of a request may take, looked at while it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes its request allows, those of the other searches of the same request included.
    bytes_max: usize,
    /// Bytes of the other searches so far.
    bytes_before: usize,
}

impl Bounds {
    /// `bytes_max`: of a request, None for no limit.
    pub fn new(bytes_max: Option<usize>) -> Self {
        Self { bytes_max: bytes_max.unwrap_or(usize::MAX), bytes_before: 0 }
    }

    /// The same for an answer that so many bytes of others stand before.
    pub fn after(self, bytes_before: usize) -> Self {
        Self { bytes_before, ..self }
    }

    /// Whether an answer of so many bytes is within its bounds.
    ///
    /// # Errors
    /// `answer_too_large`.
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

    /// Bytes an answer may have from here on.
    pub fn bytes_left(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes_before)
    }
}
