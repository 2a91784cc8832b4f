//! The field `_vectors` of displayed documents. Source: vectors §4, readback.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::embedder::embedders_of;
use super::sent::DocumentVectors;
use super::vector_set::VectorSet;
use super::vectors::Vectors;
use crate::error::{Context, Result};
use crate::settings::Settings;
use crate::store::Snapshot;

/// Formats the vectors of a document under one embedder, always as an array of arrays.
pub fn entry(vectors: &DocumentVectors, dimensions: usize) -> Value {
    let embeddings: Vec<&[f32]> = vectors.rows.chunks_exact(dimensions.max(1)).collect();
    json!({"embeddings": embeddings, "regenerate": !vectors.skip_regenerate})
}

/// Formats the vectors of a document in a set; none without a set.
fn entry_in(set: Option<&VectorSet>, docid: Option<u32>) -> Value {
    let dimensions = set.map_or(0, |set| set.shape().dimensions);
    let known = set.zip(docid).and_then(|(set, docid)| set.get(docid)).unwrap_or_default();
    entry(&known, dimensions)
}

/// Returns all vectors of a document: an entry per embedder, then the entries of `raw` that belong to no embedder.
/// `raw` is the JSON text of the stored `_vectors`.
pub fn shown(snapshot: &Snapshot, docid: u32, raw: Option<&str>) -> Result<Map<String, Value>> {
    let vectors = Vectors::of(snapshot);
    let mut shown = Map::new();
    for name in embedders_of(snapshot.settings()).into_keys() {
        let index = vectors.index(&name)?;
        shown.insert(name, entry_in(index.as_ref().map(|index| index.set()), Some(docid)));
    }
    with_raw(shown, raw)
}

/// As [`shown`], for sets outside of a snapshot. A document without a known docid has no vectors.
pub fn shown_in(
    sets: &BTreeMap<String, VectorSet>,
    settings: &Settings,
    docid: Option<u32>,
    raw: Option<&str>,
) -> Result<Map<String, Value>> {
    let names = embedders_of(settings).into_keys();
    let shown = names.map(|name| {
        let entry = entry_in(sets.get(&name), docid);
        (name, entry)
    });
    with_raw(shown.collect(), raw)
}

fn with_raw(mut shown: Map<String, Value>, raw: Option<&str>) -> Result<Map<String, Value>> {
    if let Some(raw) = raw {
        let raw: Map<String, Value> =
            serde_json::from_str(raw).context("the stored `_vectors` of a document do not parse")?;
        for (name, value) in raw {
            shown.entry(name).or_insert(value);
        }
    }
    Ok(shown)
}
