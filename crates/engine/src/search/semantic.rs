//! Decides if a search uses words, vectors, or both.
//!
//! The first case that applies decides:
//!
//! 1. No `hybrid`, or a ratio of 0: words.
//! 2. Neither words nor a vector: words, as a placeholder search.
//! 3. An unknown embedder, or a vector of another length: rejected.
//! 4. A ratio of 1, or no words: vectors; rejected without a vector.
//! 5. Any other search: both; without a vector, words only.
//!
//! Source: vectors §6.2, §6.3.

use std::sync::Arc;

use super::request::{Hybrid, SearchRequest};
use crate::error::{Error, Result};
use crate::store::Snapshot;
use crate::vector::{Embedder, Nearest, Vectors, embedders_of};

/// The kind of a search.
pub(super) enum SearchKind {
    /// Words only. `missing_ratio`: the weight of vectors, if the request asks for them but has no vector.
    Words { missing_ratio: Option<f64> },
    /// Vectors only.
    Meaning(Arc<Nearest>),
    /// Words and vectors. `ratio`: the weight of vectors.
    Both { nearest: Arc<Nearest>, ratio: f64 },
}

impl SearchKind {
    /// Returns the kind of a request.
    ///
    /// # Errors
    /// `invalid_search_embedder`, `invalid_vector_dimensions`, `vector_embedding_error`.
    pub fn of(snapshot: &Snapshot, request: &SearchRequest) -> Result<Self> {
        let words = Ok(Self::Words { missing_ratio: None });
        let blank = request.q.as_deref().is_none_or(|q| q.trim().is_empty());
        let Some(Hybrid { embedder, semantic_ratio }) = &request.hybrid else { return words };
        if *semantic_ratio == 0.0 || (blank && request.vector.is_none()) {
            return words;
        }
        let uid = &request.index_uid;
        let embedder = embedder_named(snapshot, embedder, "invalid_search_embedder", uid)?;
        let index = Vectors::of(snapshot).index(&embedder.name)?;
        let stored =
            index.as_ref().map(|index| index.set().shape().dimensions).filter(|dimensions| *dimensions > 0);
        if let (Some(vector), Some(dimensions)) = (&request.vector, embedder.dimensions.or(stored))
            && vector.len() != dimensions
        {
            let message = format!(
                "Index `{uid}`: expected {dimensions} dimensions for the embedder `{}`, found {}",
                embedder.name,
                vector.len()
            );
            return Err(Error::user("invalid_vector_dimensions", message));
        }
        let only_meaning = *semantic_ratio == 1.0 || blank;
        let Some(vector) = &request.vector else {
            if !only_meaning {
                return Ok(Self::Words { missing_ratio: Some(*semantic_ratio) });
            }
            let message = format!(
                "Index `{uid}`: the embedder `{}` of source `{}` cannot turn the query into a vector here: give one \
                 in `vector`",
                embedder.name, embedder.source
            );
            return Err(Error::user("vector_embedding_error", message));
        };
        let nearest = Arc::new(Nearest::new(index, &embedder, std::slice::from_ref(vector)));
        Ok(if only_meaning { Self::Meaning(nearest) } else { Self::Both { nearest, ratio: *semantic_ratio } })
    }
}

/// Finds an embedder in the index settings.
///
/// # Errors
/// `code` if no embedder has this name.
pub(super) fn embedder_named(
    snapshot: &Snapshot,
    name: &str,
    code: &'static str,
    index_uid: &str,
) -> Result<Embedder> {
    embedders_of(snapshot.settings())
        .remove(name)
        .ok_or_else(|| Error::user(code, format!("Index `{index_uid}`: there is no embedder named `{name}`")))
}
