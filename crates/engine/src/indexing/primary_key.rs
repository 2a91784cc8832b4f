//! Finds the primary key and the id of a document.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::fields::{ID_BYTES_MAX, id_from, values_named};

/// Returns the only field of `document` with a name that ends in `id`, in upper or lower case.
///
/// # Errors
/// `index_primary_key_no_candidate_found` or `index_primary_key_multiple_candidates_found`.
pub fn infer(document: &Map<String, Value>) -> Result<String> {
    let mut candidates: Vec<&str> =
        document.keys().map(String::as_str).filter(|name| name.to_lowercase().ends_with("id")).collect();
    candidates.sort_unstable();
    match candidates.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(Error::user(
            "index_primary_key_no_candidate_found",
            "no field of the first document ends with `id`, so there is no candidate for the primary key; name \
             it with the `primaryKey` parameter",
        )),
        [first, second, ..] => Err(Error::user(
            "index_primary_key_multiple_candidates_found",
            format!(
                "{} fields of the first document end with `id` and could be the primary key, among them \
                 `{first}` and `{second}`; name it with the `primaryKey` parameter",
                candidates.len()
            ),
        )),
    }
}

/// Makes the error for a primary key other than that of the index.
pub fn already_exists(stored: &str) -> Error {
    let message = format!(
        "the index already has the primary key `{stored}`; it can be changed while there are no documents"
    );
    Error::user("index_primary_key_already_exists", message)
}

/// Returns the id of `document` as text.
///
/// # Errors
/// `missing_document_id` or `invalid_document_id`.
pub fn id_of(primary_key: &str, document: &Map<String, Value>) -> Result<String> {
    let whole = || Value::Object(document.clone());
    let found = values_named(primary_key, document);
    match found.as_slice() {
        [] => Err(Error::user(
            "missing_document_id",
            format!("the document lacks its primary key `{primary_key}`: {}", shortened(&whole())),
        )),
        [value] => parse_id(value),
        _ => Err(Error::user(
            "invalid_document_id",
            format!(
                "the primary key `{primary_key}` leads to several values in the document {}",
                shortened(&whole())
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
                "{} is no document id: integers, and strings of at most {ID_BYTES_MAX} characters out of a-z \
                 A-Z 0-9 - _ are",
                shortened(value)
            ),
        )
    })
}

/// Formats a value as JSON for a message, in backticks and cut to a readable length.
fn shortened(value: &Value) -> String {
    const UNITS_MAX: usize = 200;
    let text = value.to_string();
    let mut units = 0;
    let is_over = |character: char| {
        units += character.len_utf16();
        units > UNITS_MAX
    };
    match text.find(is_over) {
        Some(end) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
