//! Parses the `_vectors` field of a document.
//!
//! 1. null and `[]`: no vectors, and none shall be made.
//! 2. An array of numbers is a vector, an array of such arrays is several; both imply `regenerate: false`.
//! 3. An object has `regenerate`, and optionally `embeddings` in one of the forms above.
//!
//! Source: vectors §4.

use serde_json::{Map, Value};

use super::embedder::Embedder;
use super::limits::VECTORS_MAX;
use crate::error::{Error, Result};

/// Vectors and flags of a document under one embedder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocumentVectors {
    /// True if the client has set the vectors.
    pub user_provided: bool,
    /// True if the vectors are never regenerated.
    pub skip_regenerate: bool,
    /// The vectors, one after another; may be empty.
    pub rows: Vec<f32>,
    /// Number of the fragment of each vector; `None` if they were not made from fragments.
    pub fragments: Option<Vec<u8>>,
}

/// Vectors that the client sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// True if they may be regenerated.
    pub regenerate: bool,
    /// `None` if the client sent no `embeddings`.
    pub rows: Option<Vec<f32>>,
}

/// Returns the `_vectors` of a document; `None` if it has none.
///
/// # Errors
/// `invalid_vectors_type` if it is not an object.
pub fn vectors_in<'d>(document: &'d Map<String, Value>, id: &str) -> Result<Option<&'d Map<String, Value>>> {
    match document.get("_vectors") {
        None => Ok(None),
        Some(Value::Object(vectors)) => Ok(Some(vectors)),
        Some(_) => Err(bad(id, "", "it must be an object of embedder names")),
    }
}

/// Converts an entry that belongs to no embedder to its stored form. Checks only its outer shape.
///
/// # Errors
/// `invalid_vectors_type`.
pub fn stored_entry(id: &str, name: &str, value: &Value) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Array(Vec::new())),
        Value::Array(_) => Ok(value.clone()),
        value => {
            let (regenerate, embeddings) = open(id, name, value)?;
            let embeddings = embeddings.cloned().unwrap_or(Value::Null);
            Ok(serde_json::json!({"regenerate": regenerate, "embeddings": embeddings}))
        }
    }
}

/// Reads the entry of an embedder.
///
/// # Errors
/// `invalid_vectors_type` for a wrong shape or number, `invalid_vector_dimensions` for a wrong length,
/// `too_many_vectors`.
pub fn read_sent(id: &str, embedder: &Embedder, value: &Value) -> Result<Sent> {
    if matches!(value, Value::Null | Value::Array(_)) {
        return Ok(Sent { regenerate: false, rows: Some(rows_of(id, embedder, value)?) });
    }
    let (regenerate, embeddings) = open(id, &embedder.name, value)?;
    let rows = embeddings.map(|value| rows_of(id, embedder, value)).transpose()?;
    Ok(Sent { regenerate, rows })
}

/// Reads the entry of a new embedder from a stored document, where `embeddings` is null if the client sent none.
///
/// # Errors
/// As [`read_sent`].
pub fn read_stored(id: &str, embedder: &Embedder, value: &Value) -> Result<Sent> {
    let sent = read_sent(id, embedder, value)?;
    let sent_none = value.get("embeddings").is_some_and(Value::is_null);
    Ok(if sent_none { Sent { rows: None, ..sent } } else { sent })
}

fn open<'v>(id: &str, name: &str, value: &'v Value) -> Result<(bool, Option<&'v Value>)> {
    let Value::Object(entry) = value else {
        return Err(bad(id, name, "expected an array, null or an object"));
    };
    if let Some(key) = entry.keys().find(|key| !matches!(key.as_str(), "regenerate" | "embeddings")) {
        let reason = format!("unknown key `{key}`, expected `regenerate` and `embeddings`");
        return Err(bad(id, name, &reason));
    }
    match entry.get("regenerate") {
        Some(Value::Bool(regenerate)) => Ok((*regenerate, entry.get("embeddings"))),
        _ => Err(bad(id, name, "`regenerate` must be there and a boolean")),
    }
}

fn rows_of(id: &str, embedder: &Embedder, value: &Value) -> Result<Vec<f32>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err(bad(id, &embedder.name, "`embeddings` must be an array")),
    };
    let vectors = match list.first() {
        None => return Ok(Vec::new()),
        Some(Value::Array(_)) => list.as_slice(),
        Some(_) => std::slice::from_ref(value),
    };
    if vectors.len() > VECTORS_MAX {
        let message = format!(
            "document `{id}` has {} vectors for the embedder `{}`, at most {VECTORS_MAX} are possible",
            vectors.len(),
            embedder.name
        );
        return Err(Error::user("too_many_vectors", message));
    }
    let mut rows = Vec::new();
    let mut lengths = Vec::with_capacity(vectors.len());
    // Checks the shapes of all vectors before any length.
    for vector in vectors {
        let before = rows.len();
        read_vector(id, &embedder.name, vector, &mut rows)?;
        lengths.push(rows.len() - before);
    }
    lengths.into_iter().try_for_each(|length| check_length(id, embedder, length))?;
    if embedder.binary {
        rows.iter_mut().for_each(|component| *component = f32::from(u8::from(*component > 0.0)));
    }
    Ok(rows)
}

fn read_vector(id: &str, name: &str, vector: &Value, rows: &mut Vec<f32>) -> Result<()> {
    let Value::Array(components) = vector else {
        return Err(bad(id, name, "vectors and numbers stand side by side"));
    };
    for component in components {
        let Some(number) = component.as_f64() else {
            return Err(bad(id, name, "a vector holds something that is no number"));
        };
        let narrow = number as f32;
        if !narrow.is_finite() {
            return Err(bad(id, name, &format!("`{component}` is beyond what 32-bit floats hold")));
        }
        rows.push(narrow);
    }
    Ok(())
}

fn check_length(id: &str, embedder: &Embedder, length: usize) -> Result<()> {
    let name = &embedder.name;
    match embedder.dimensions {
        None => {
            let message = format!(
                "the number of dimensions of the embedder `{name}` is not known: set its `dimensions`"
            );
            Err(Error::user("vector_embedding_error", message))
        }
        Some(dimensions) if dimensions != length => {
            let message = format!(
                "document `{id}`: expected {dimensions} dimensions for the embedder `{name}`, found {length}"
            );
            Err(Error::user("invalid_vector_dimensions", message))
        }
        Some(_) => Ok(()),
    }
}

fn bad(id: &str, name: &str, reason: &str) -> Error {
    let dot = if name.is_empty() { "" } else { "." };
    let message = format!("document `{id}`: bad value at `._vectors{dot}{name}`: {reason}");
    Error::user("invalid_vectors_type", message)
}
