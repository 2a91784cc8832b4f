//! Runs several searches in one request.

use super::answer::{Answer, Facts};
use super::json_writer::write_text;
use super::request::{SearchRequest, decode};
use super::search::write_members;
use super::search_deadline::SearchDeadline;
use crate::error::{Error, Result, UserError};
use crate::filter::{ForeignIndexes, Indexes};
use crate::store::Snapshot;

/// A search of a request with several.
pub struct IndexedSearch {
    /// Id of the index.
    pub index: String,
    /// The commit to search. All searches of an index share one commit.
    pub snapshot: Snapshot,
    /// A `SearchRequest` as UTF-8 JSON.
    pub request: Vec<u8>,
}

/// Answers each search separately, in order. `indexes` resolves foreign keys.
///
/// # Errors
/// The error of the first search that fails, with its position.
pub fn multi_search(
    searches: &[IndexedSearch],
    search_deadline: &SearchDeadline,
    indexes: &dyn Indexes,
) -> Result<Answer> {
    let mut body = b"{\"results\":[".to_vec();
    let mut facts = Facts::default();
    for (at, search) in searches.iter().enumerate() {
        let request: SearchRequest = decode(&search.request)?;
        if at > 0 {
            search_deadline.check()?;
        }
        body.extend_from_slice(if at == 0 { b"{\"indexUid\":" } else { b",{\"indexUid\":" });
        write_text(&request.index_uid, &mut body);
        body.push(b',');
        let foreign = ForeignIndexes::new(indexes);
        let one =
            write_members(&search.snapshot, &request, &search_deadline.restarted(), &foreign, &mut body)
                .map_err(|error| at_query(error, at))?;
        body.push(b'}');
        facts.degraded |= one.degraded;
        facts.used_negative_operator |= one.used_negative_operator;
        facts.terms = facts.terms.max(one.terms);
        facts.hits += one.hits;
        facts.semantic_hits = match (facts.semantic_hits, one.semantic_hits) {
            (None, None) => None,
            (some, more) => Some(some.unwrap_or(0) + more.unwrap_or(0)),
        };
    }
    body.extend_from_slice(b"]}");
    Ok(Answer { body, facts })
}

/// Adds the position of a query to its error.
pub(super) fn at_query(error: Error, position: usize) -> Error {
    match error {
        Error::User(UserError { code, message }) => {
            Error::user(code, format!("inside `.queries[{position}]`: {message}"))
        }
        error => error,
    }
}
