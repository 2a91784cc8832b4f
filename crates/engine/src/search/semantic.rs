//! Here is a search with `hybrid`: is it one by words, by meaning, or by both?
//!
//! The first line that holds decides:
//!
//! 1. no `hybrid`, or a ratio of 0: words.
//! 2. nothing to search for: words, which is a placeholder search.
//! 3. an embedder that is not there, a vector of another length: refused.
//! 4. a ratio of 1, or no words: meaning; without a vector that is refused.
//! 5. else both; without a vector, words alone.
//!
//! Source: vectors §6.2, §6.3.

use std::sync::Arc;

use super::request::{Hybrid, SearchRequest};
use crate::error::{Error, Result};
use crate::store::Snapshot;
use crate::vector::{Embedder, Nearest, Vectors, embedders_of};

/// What a search goes by.
pub(super) enum SearchKind {
    /// `lacking`: meaning was asked for, with this share, but there is no vector to go by.
    Words {
        lacking: Option<f64>,
    },
    Meaning(Arc<Nearest>),
    /// `ratio`: the share of meaning.
    Both {
        nearest: Arc<Nearest>,
        ratio: f64,
    },
}

impl SearchKind {
    pub fn of(snapshot: &Snapshot, request: &SearchRequest) -> Result<Self> {
        let words = Ok(Self::Words { lacking: None });
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
                "index `{uid}`: expected {dimensions} dimensions for the embedder `{}`, found {}",
                embedder.name,
                vector.len()
            );
            return Err(Error::user("invalid_vector_dimensions", message));
        }
        let only_meaning = *semantic_ratio == 1.0 || blank;
        let Some(vector) = &request.vector else {
            if !only_meaning {
                return Ok(Self::Words { lacking: Some(*semantic_ratio) });
            }
            let message = format!(
                "index `{uid}`: the embedder `{}` of source `{}` cannot turn the query into a vector here: give one \
                 in `vector`",
                embedder.name, embedder.source
            );
            return Err(Error::user("vector_embedding_error", message));
        };
        let nearest = Arc::new(Nearest::new(index, &embedder, std::slice::from_ref(vector)));
        Ok(if only_meaning { Self::Meaning(nearest) } else { Self::Both { nearest, ratio: *semantic_ratio } })
    }
}

/// # Errors
/// `code` if there is no such embedder.
pub(super) fn embedder_named(
    snapshot: &Snapshot,
    name: &str,
    code: &'static str,
    index_uid: &str,
) -> Result<Embedder> {
    embedders_of(snapshot.settings())
        .remove(name)
        .ok_or_else(|| Error::user(code, format!("index `{index_uid}`: there is no embedder named `{name}`")))
}
