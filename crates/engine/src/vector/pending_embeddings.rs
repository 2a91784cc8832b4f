//! Vectors that the server makes: for which documents, and which ones were made?

use std::sync::Arc;

use crate::settings::Settings;

/// A reason to make vectors of a document before the commit.
#[derive(Debug, Clone)]
pub enum Want {
    /// Its vectors are made, whatever it was before.
    Anew,
    /// Its vectors are made if the embedder sees another text than before.
    Compared {
        /// Settings under which its current vectors were made.
        settings: Arc<Settings>,
        /// The document that its current vectors were made from, as the caller numbers it; `None`: as the
        /// base has it.
        of: Option<u32>,
    },
}

impl Want {
    /// Combines a reason with a `later` one: of two comparisons the first holds, because it names the origin
    /// of the current vectors.
    pub fn and(earlier: Option<Self>, later: Self) -> Self {
        match (earlier, &later) {
            (Some(earlier), Self::Compared { .. }) => earlier,
            _ => later,
        }
    }
}

/// A request of a document to an embedder, beside the vectors it brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// No vectors: it brings them.
    Nothing,
    /// [`Want::Anew`].
    Anew,
    /// [`Want::Compared`].
    Compared,
}

/// Vectors made for documents of one embedder; shape: `VectorPage` in `ts/engine/engine.ts`.
#[derive(Debug, Default)]
pub struct VectorPage {
    /// Name of the embedder.
    pub embedder: String,
    /// The documents.
    pub docids: Vec<u32>,
    /// Number of vectors of each document.
    pub counts: Vec<u8>,
    /// Per vector, the number of its fragment, or [`NO_FRAGMENT`].
    pub fragments: Vec<u8>,
    /// Per vector: 1 if the document keeps its vector of that fragment, 0 if the vector is the next of
    /// `rows`.
    pub reused: Vec<u8>,
    /// The new vectors, one after another.
    pub rows: Vec<f32>,
}

/// The fragment number of a vector that was made from the whole document.
pub const NO_FRAGMENT: u8 = 255;
