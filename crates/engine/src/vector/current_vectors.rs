//! Settings of the client so far for the vectors of a document.

use super::sent::DocumentVectors;

/// Settings of the client for the vectors of a document under one embedder.
#[derive(Debug, Clone, Copy)]
pub struct CurrentVectors {
    /// True if they are never regenerated.
    pub skip_regenerate: bool,
}

/// Looks up the current vectors of a document by name of embedder; `None` if it has none.
pub type CurrentVectorsOf<'a> = &'a dyn Fn(&str) -> Option<CurrentVectors>;

impl From<&DocumentVectors> for CurrentVectors {
    fn from(vectors: &DocumentVectors) -> Self {
        Self { skip_regenerate: vectors.skip_regenerate }
    }
}
