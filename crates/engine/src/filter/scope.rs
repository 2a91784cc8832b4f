//! The caller's options for a filter: allowed features, limits, and the form of errors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::foreign_indexes::{ForeignIndexes, ForeignKey};
use super::limits::FILTER_TIME_MAX;
use crate::error::{Error, Result};

/// The caller's options for a filter.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Error code for a filter that does not parse or uses a field without filters.
    pub code: &'static str,
    /// Index named in messages; `None` to name none.
    pub index_uid: Option<&'a str>,
    /// Enabled experimental features.
    pub features: Features,
    /// Set when the client disconnects, to stop evaluation.
    pub stop: Option<&'a AtomicBool>,
    /// Time limit. `None`: [`super::passing`] sets it; for other callers time is unlimited.
    pub until: Option<Instant>,
    /// Other indexes that the filter may use; `None` if it may use none.
    pub foreign: Option<Foreign<'a>>,
}

/// Other indexes, and the foreign keys of the filter's index.
#[derive(Debug, Clone, Copy)]
pub struct Foreign<'a> {
    /// Foreign keys of the index to filter.
    pub keys: &'a [ForeignKey],
    /// The indexes, as read by all parts of the request.
    pub indexes: &'a ForeignIndexes<'a>,
}

impl Scope<'_> {
    /// Returns the same scope with a time limit of [`FILTER_TIME_MAX`] from now, unless it already has a limit.
    pub(super) fn timed(self) -> Self {
        Self { until: self.until.or_else(|| Some(Instant::now() + FILTER_TIME_MAX)), ..self }
    }

    /// Checks that the client is still connected and the time limit has not passed.
    ///
    /// # Errors
    /// Internal, once `stop` is set; the server does not report it, because the client has disconnected. The scope's
    /// code, once the time is over.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::internal("a filter was given up", "its client is gone"));
        }
        if self.until.is_some_and(|until| Instant::now() > until) {
            let message = format!(
                "the filter takes longer than {} ms; use fewer conditions, or `IN` for many values of one attribute",
                FILTER_TIME_MAX.as_millis()
            );
            return Err(Error::user(self.code, message));
        }
        Ok(())
    }
}

/// Experimental features of searches.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Features {
    /// Allows `CONTAINS`.
    pub contains_filter: bool,
    /// Cuts totals at `maxTotalHits`; filters do not depend on it.
    pub legacy_search: bool,
    /// Allows `_vectors … EXISTS`.
    pub multimodal: bool,
    /// Allows `_foreign(…)`.
    pub foreign_keys: bool,
}
