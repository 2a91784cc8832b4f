//! The field `_vectors` of documents that are shown. Source: vectors §4, readback.

use serde_json::{Map, Value, json};

use super::embedder::embedders_of;
use super::sent::DocumentVectors;
use super::vectors::Vectors;
use crate::error::{Context, Result};
use crate::store::Snapshot;

/// The vectors of a document under one embedder, always an array of arrays.
pub fn entry(vectors: &DocumentVectors, dimensions: usize) -> Value {
    let embeddings: Vec<&[f32]> = vectors.rows.chunks_exact(dimensions.max(1)).collect();
    json!({"embeddings": embeddings, "regenerate": !vectors.skip_regenerate})
}

/// All vectors of a document: an entry per embedder, then the entries of `raw`, the JSON text of the stored
/// `_vectors`, which belong to no embedder.
pub fn shown(snapshot: &Snapshot, docid: u32, raw: Option<&str>) -> Result<Map<String, Value>> {
    let vectors = Vectors::of(snapshot);
    let mut shown = Map::new();
    for name in embedders_of(snapshot.settings()).into_keys() {
        let index = vectors.index(&name)?;
        let set = index.as_ref().map(|index| index.set());
        let dimensions = set.map_or(0, |set| set.shape().dimensions);
        let known = set.and_then(|set| set.get(docid)).unwrap_or_default();
        shown.insert(name, entry(&known, dimensions));
    }
    if let Some(raw) = raw {
        let raw: Map<String, Value> =
            serde_json::from_str(raw).context("the stored `_vectors` of a document do not parse")?;
        for (name, value) in raw {
            shown.entry(name).or_insert(value);
        }
    }
    Ok(shown)
}
