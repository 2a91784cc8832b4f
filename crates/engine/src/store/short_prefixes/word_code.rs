//! The first letter of a word in a document that is being written.

use super::codes::code_of;
use crate::fields::FieldId;

/// Code of the first letter of a word, with field and position, as one integer that sorts by field and position.
///
/// field · 2³² + position · 2⁸ + code; positions are below 2²⁴.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WordCode(u64);

impl WordCode {
    /// Creates the code of a word.
    pub fn of(word: &str, field: FieldId, position: u32) -> Self {
        debug_assert!(position < 1 << 24);
        Self(u64::from(field) << 32 | u64::from(position) << 8 | u64::from(code_of(word)))
    }

    pub(super) fn field(self) -> FieldId {
        (self.0 >> 32) as FieldId
    }

    pub(super) fn position(self) -> u32 {
        self.0 as u32 >> 8
    }

    pub(super) fn code(self) -> u8 {
        self.0 as u8
    }
}
