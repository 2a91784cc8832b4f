//! An uploaded body, as specified by a task.

use std::path::PathBuf;

use serde::Deserialize;

use crate::error::Error;

/// An uploaded body: a file in the spool, or its text if it is small.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// Absolute path of the file; unused if `text` is given.
    #[serde(default)]
    pub path: PathBuf,
    /// Text of the body, if it is small.
    #[serde(default)]
    pub text: Option<String>,
    /// Format of the body.
    pub format: Format,
    /// Delimiter of CSV, one ASCII character; `,` by default.
    pub csv_delimiter: Option<String>,
}

/// The format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An object, or an array of objects.
    Json,
    /// Objects separated by white space.
    Ndjson,
    /// A header and records.
    Csv,
}

impl Format {
    /// Returns the name of the format for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }
}

/// Makes the error for a body that does not parse.
pub fn malformed(format: Format, reason: &str) -> Error {
    let message = format!("the `{}` payload is malformed: {reason}", format.name());
    Error::user("malformed_payload", message)
}
