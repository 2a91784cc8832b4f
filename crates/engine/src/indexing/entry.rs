//! What becomes of one document of a batch, and what it is made of.

use smallvec::SmallVec;

use super::spool::Slice;

/// What becomes of one document id.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Its docid from here on; None: there is no such document any more.
    pub docid: Option<u32>,
    /// Its docid in the base; None if it was not there.
    pub base: Option<u32>,
    /// Whether the first piece builds on the base document.
    pub on_base: bool,
    /// Pieces merged one after another.
    pub pieces: SmallVec<[Piece; 1]>,
    /// The last of [`StagedBatch::spools`] that had the id, counted from 1; 0: none had.
    pub(super) seen_in: u32,
}

/// What a document is made of.
#[derive(Debug, Clone, Copy)]
pub enum Piece {
    /// A document of a body.
    Body {
        /// Which of [`StagedBatch::spools`].
        spool: u32,
        /// Where in it.
        slice: Slice,
    },
    /// Vectors it gets back: which of those the staged batch keeps.
    Vectors(u32),
}

impl Piece {
    /// About how much there is to read, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Body { slice, .. } => slice.bytes() as usize,
            Self::Vectors(_) => 0,
        }
    }
}
