//! Counts the documents of an uploaded body and finds its first error.

use serde::Serialize;

use super::payload::Payload;
use super::spool::Spool;
use crate::error::{Error, Result};

/// Number of documents and the first error of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PayloadReport {
    /// The number of documents in the body, or before its error.
    pub documents: usize,
    /// `missing_payload` or `malformed_payload`; `None` if the body parses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<crate::error::UserError>,
}

/// Counts the documents of a body and finds its first error.
///
/// # Errors
/// Internal, if the file cannot be read. Errors in its content are in the report.
pub fn inspect(payload: &Payload) -> Result<PayloadReport> {
    let mut documents = 0;
    let outcome = Spool::open(payload).and_then(|spool| {
        spool.each(&mut |slice| {
            spool.check(slice)?;
            documents += 1;
            Ok(())
        })
    });
    match outcome {
        Ok(()) => Ok(PayloadReport { documents, error: None }),
        Err(Error::User(error)) => Ok(PayloadReport { documents, error: Some(error) }),
        Err(error) => Err(error),
    }
}
