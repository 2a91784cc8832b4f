//! Prepares a commit for its first searches.

use super::analyzer::analyzer;
use crate::error::Result;
use crate::facets;
use crate::ranking::{self, Deadline};
use crate::store::Snapshot;

/// Opens the columns that searches have used. Searches that need them wait meanwhile, so call it with normal priority.
/// Returns true if [`warm_up`] has something to compute.
///
/// # Errors
/// Internal if a column cannot be read.
pub fn wants_warm_up(snapshot: &Snapshot) -> Result<bool> {
    let has_tables = facets::open_searched(snapshot)?;
    Ok(has_tables || ranking::uses_lengths(snapshot.settings()) || ranking::wants_words(snapshot))
}

/// Computes what first searches would have to wait for, until `deadline`: the tables of fields that searches have used, of
/// at most `bytes_max` bytes, the lengths of attributes for the rule `relevance`, and the documents of frequent words.
///
/// # Errors
/// Internal if the commit cannot be read.
pub fn warm_up(snapshot: &Snapshot, bytes_max: usize, deadline: &Deadline) -> Result<()> {
    facets::warm_up(snapshot, bytes_max, &|| deadline.is_over())?;
    if ranking::uses_lengths(snapshot.settings()) {
        ranking::warm_up_lengths(snapshot, deadline)?;
    }
    if ranking::wants_words(snapshot) {
        ranking::warm_up_words(snapshot, &*analyzer(snapshot)?, deadline)?;
    }
    Ok(())
}
