//! A document of a batch: its docids and its updates.

use smallvec::SmallVec;

use super::spool::Slice;

/// The changes that a batch makes to one document id.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Docid after the batch; `None` if the document is deleted.
    pub docid: Option<u32>,
    /// Docid in the base; `None` if the base has no such document.
    pub base: Option<u32>,
    /// True if the updates are applied to the document of the base.
    pub on_base: bool,
    /// Updates, applied in order.
    pub updates: SmallVec<[Update; 1]>,
    /// Number, from 1, of the last of [`super::StagedBatch::spools`] with this id; 0 if there is none.
    pub(super) seen_in: u32,
}

/// A change to a document.
#[derive(Debug, Clone, Copy)]
pub enum Update {
    /// Fields from a document of a body.
    Body {
        /// Index of the body in [`super::StagedBatch::spools`].
        spool: u32,
        /// The bytes of the document in the body.
        slice: Slice,
    },
    /// Vectors that the document gets back from a removed embedder: their index in the staged batch.
    Vectors(u32),
}

impl Update {
    /// Returns the length of its JSON in bytes; 0 if it is not from a body.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Body { slice, .. } => slice.bytes() as usize,
            Self::Vectors(_) => 0,
        }
    }
}
