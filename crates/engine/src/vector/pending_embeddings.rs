//! Vectors that no client sent: for which documents are they wanted, and which ones were made?

use std::sync::Arc;

use crate::settings::Settings;

/// Why a document has to be looked at before the commit.
#[derive(Debug, Clone)]
pub enum Want {
    /// Its vectors are made anew, whatever it was before.
    Anew,
    /// They are made anew as far as it looks otherwise than it did.
    Compared {
        /// Settings under which its vectors were made.
        settings: Arc<Settings>,
        /// The document they were made of, as the caller numbers it; None: as the base has it.
        of: Option<u32>,
    },
}

impl Want {
    /// What is wanted after `later` was asked for as well: the first names what vectors were made of.
    pub fn and(earlier: Option<Self>, later: Self) -> Self {
        match (earlier, &later) {
            (Some(earlier), Self::Compared { .. }) => earlier,
            _ => later,
        }
    }
}

/// What a document asks of an embedder, beside vectors it brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: it brings them.
    Nothing,
    /// [`Want::Anew`].
    Anew,
    /// [`Want::Compared`].
    Compared,
}

/// Vectors made for documents of one embedder; shape: `VectorPage` in `ts/engine/engine.ts`.
#[derive(Debug, Default)]
pub struct VectorPage {
    /// Which embedder.
    pub embedder: String,
    /// Whose vectors.
    pub docids: Vec<u32>,
    /// Vectors of each document.
    pub counts: Vec<u8>,
    /// Per vector, the number of its fragment, or [`NO_FRAGMENT`].
    pub fragments: Vec<u8>,
    /// Per vector: 1, the one the document has of that fragment stays; 0, it is the next of `rows`.
    pub kept: Vec<u8>,
    /// One vector after another.
    pub rows: Vec<f32>,
}

/// Stands for the number of a fragment where a vector was made from the whole document.
pub const NO_FRAGMENT: u8 = 255;
