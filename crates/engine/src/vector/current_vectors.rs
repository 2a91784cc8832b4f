//! What the client has said so far of a document's vectors.

use super::sent::DocumentVectors;

/// What the client has said so far of a document's vectors.
#[derive(Debug, Clone, Copy)]
pub struct CurrentVectors {
    /// They are never made anew.
    pub skip_regenerate: bool,
}

/// How a document stands with an embedder, by its name; None: it has no vectors of it.
pub type CurrentVectorsOf<'a> = &'a dyn Fn(&str) -> Option<CurrentVectors>;

impl From<&DocumentVectors> for CurrentVectors {
    fn from(vectors: &DocumentVectors) -> Self {
        Self { skip_regenerate: vectors.skip_regenerate }
    }
}
