//! The client's choices so far about the vectors of a document.

use super::sent::DocumentVectors;

/// The client's choices about the vectors of a document under one embedder.
#[derive(Debug, Clone, Copy)]
pub struct CurrentVectors {
    /// Whether they are never regenerated.
    pub skip_regenerate: bool,
}

/// The current vectors of a document by name of embedder; `None`: it has none of that embedder.
pub type CurrentVectorsOf<'a> = &'a dyn Fn(&str) -> Option<CurrentVectors>;

impl From<&DocumentVectors> for CurrentVectors {
    fn from(vectors: &DocumentVectors) -> Self {
        Self { skip_regenerate: vectors.skip_regenerate }
    }
}
