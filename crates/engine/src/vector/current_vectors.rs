//! What the client has determined so far about a document's vectors.

use super::sent::DocumentVectors;

/// What the client has said so far of a document's vectors.
#[derive(Debug, Clone, Copy)]
pub struct CurrentVectors {
    /// They are never regenerated.
    pub skip_regenerate: bool,
}

/// The current vectors of a document by name of embedder; `None`: it has none of that embedder.
pub type CurrentVectorsOf<'a> = &'a dyn Fn(&str) -> Option<CurrentVectors>;

impl From<&DocumentVectors> for CurrentVectors {
    fn from(vectors: &DocumentVectors) -> Self {
        Self { skip_regenerate: vectors.skip_regenerate }
    }
}
