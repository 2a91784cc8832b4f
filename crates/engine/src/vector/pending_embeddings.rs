//! Vectors that the server makes: reasons to make them, and the vectors made.

use std::sync::Arc;

use crate::settings::Settings;

/// Reason to make vectors of a document before the commit.
#[derive(Debug, Clone)]
pub enum Want {
    /// Always makes its vectors, whatever it was before.
    Always,
    /// Makes its vectors if the embedder sees another text than before.
    IfTextChanged {
        /// Settings with which its current vectors were made.
        settings: Arc<Settings>,
        /// Document from which its current vectors were made, as numbered by the caller; `None` for the document in the
        /// base.
        of: Option<u32>,
    },
}

impl Want {
    /// Combines a reason with a `later` one. If both compare texts, the earlier one holds, because it names the origin
    /// of the current vectors.
    pub fn and(earlier: Option<Self>, later: Self) -> Self {
        match (earlier, &later) {
            (Some(earlier), Self::IfTextChanged { .. }) => earlier,
            _ => later,
        }
    }
}

/// Request of a document to an embedder, in addition to the vectors that it provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Nothing, because it provides vectors.
    Nothing,
    /// [`Want::Always`].
    Always,
    /// [`Want::IfTextChanged`].
    IfTextChanged,
}

/// Vectors made for documents of an embedder. Shape: `VectorPage` in `ts/engine/batches.ts`.
#[derive(Debug, Default)]
pub struct VectorPage {
    /// Name of the embedder.
    pub embedder: String,
    /// The documents.
    pub docids: Vec<u32>,
    /// Number of vectors of each document.
    pub counts: Vec<u8>,
    /// Number of the fragment of each vector, or [`NO_FRAGMENT`].
    pub fragments: Vec<u8>,
    /// For each vector: 1 if the document keeps its vector of that fragment, 0 if the vector is the next of `rows`.
    pub reused: Vec<u8>,
    /// New vectors, one after another.
    pub rows: Vec<f32>,
}

/// Fragment number of a vector made from the complete document.
pub const NO_FRAGMENT: u8 = 255;
