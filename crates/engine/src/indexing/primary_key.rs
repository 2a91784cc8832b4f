//! Finds the primary key and the id of a document.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::fields::{ID_BYTES_MAX, at_most, id_from, values_named};

/// Returns the only field of `document` with a name that ends in `id`, in upper or lower case.
pub fn infer(index_uid: &str, document: &Map<String, Value>) -> Result<String> {
    let mut candidates: Vec<&str> =
        document.keys().map(String::as_str).filter(|name| name.to_lowercase().ends_with("id")).collect();
    candidates.sort_unstable();
    match candidates.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(Error::user(
            "index_primary_key_no_candidate_found",
            format!(
                "Index `{index_uid}`: The primary key inference failed as the engine did not find any \
                 field ending with `id` in its name. Please specify the primary key manually using the \
                 `primaryKey` query parameter."
            ),
        )),
        [first, second, ..] => Err(Error::user(
            "index_primary_key_multiple_candidates_found",
            format!(
                "Index `{index_uid}`: The primary key inference failed as the engine found {} fields \
                 ending with `id` in their names: '{first}' and '{second}'. Please specify the primary key \
                 manually using the `primaryKey` query parameter.",
                candidates.len()
            ),
        )),
    }
}

/// Makes the error for a primary key other than that of the index.
pub fn already_exists(index_uid: &str, stored: &str) -> Error {
    let message = format!("Index `{index_uid}`: Index already has a primary key: `{stored}`.");
    Error::user("index_primary_key_already_exists", message)
}

/// Returns the id of `document` as text.
///
/// # Errors
/// `missing_document_id` or `invalid_document_id`.
pub fn id_of(primary_key: &str, document: &Map<String, Value>) -> Result<String> {
    let found = values_named(primary_key, document);
    match found.as_slice() {
        [] => Err(Error::user(
            "missing_document_id",
            format!(
                "Document doesn't have a `{primary_key}` attribute: `{}`.",
                shortened(&Value::Object(document.clone()))
            ),
        )),
        [value] => parse_id(value),
        _ => Err(Error::user(
            "invalid_document_id",
            format!(
                "Document identifier is ambiguous: the primary key `{primary_key}` matches {} values of \
                 the document.",
                found.len()
            ),
        )),
    }
}

/// Converts a value to an id.
///
/// # Errors
/// `invalid_document_id`.
pub fn parse_id(value: &Value) -> Result<String> {
    id_from(value).ok_or_else(|| {
        Error::user(
            "invalid_document_id",
            format!(
                "Document identifier `{}` is invalid. A document identifier can be of type integer or \
                 string, only composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and \
                 underscores (_), and can not be more than {ID_BYTES_MAX} bytes.",
                shortened(value)
            ),
        )
    })
}

/// Formats a value for a message, cut to 1000 bytes because messages are stored with tasks.
fn shortened(value: &Value) -> String {
    const BYTES_MAX: usize = 1000;
    let text = value.to_string();
    if text.len() <= BYTES_MAX { text } else { format!("{}…", at_most(&text, BYTES_MAX)) }
}
