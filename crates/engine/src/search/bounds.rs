//! Here is an answer being written: may it grow further?

use crate::error::{Error, Result};

/// The bound on the size of an answer, checked while it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes that the request allows for the answers of all its searches together.
    bytes_max: usize,
    /// Bytes of the answers of earlier searches.
    bytes_before: usize,
}

impl Bounds {
    /// `bytes_max`: of the request; `None` for no limit.
    pub fn new(bytes_max: Option<usize>) -> Self {
        Self { bytes_max: bytes_max.unwrap_or(usize::MAX), bytes_before: 0 }
    }

    /// The bound for an answer that follows `bytes_before` bytes of other answers.
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

    /// Bytes that the answer may have.
    pub fn bytes_left(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes_before)
    }
}
