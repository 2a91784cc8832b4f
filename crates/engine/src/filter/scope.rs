//! What a caller allows in a filter, and how mistakes in it are reported to the caller.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::foreign_indexes::{ForeignIndexes, ForeignKey};
use super::limits::FILTER_TIME_MAX;
use crate::error::{Error, Result};

/// The caller's part of a filter: what is allowed, and how mistakes are reported.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Code of the error for a filter that does not parse or names a field that is not filterable.
    pub code: &'static str,
    /// Index that messages name; `None` for a route whose messages name none.
    pub index_uid: Option<&'a str>,
    /// Experimental features that are switched on.
    pub features: Features,
    /// Set when the client is gone, so that evaluation stops.
    pub stop: Option<&'a AtomicBool>,
    /// When evaluation fails; `None`: [`super::passing`] sets it, and other callers have as much time as they take.
    pub until: Option<Instant>,
    /// Other indexes that the filter may ask about; `None` if it may ask about none.
    pub foreign: Option<Foreign<'a>>,
}

/// Other indexes, and the foreign keys that lead to them.
#[derive(Debug, Clone, Copy)]
pub struct Foreign<'a> {
    /// Foreign keys of the index that the filter is for.
    pub keys: &'a [ForeignKey],
    /// The indexes as the whole request reads them.
    pub indexes: &'a ForeignIndexes<'a>,
}

impl Scope<'_> {
    /// The same scope, in which evaluation has [`FILTER_TIME_MAX`] from now on, or as long as it has already.
    pub(super) fn timed(self) -> Self {
        Self { until: self.until.or_else(|| Some(Instant::now() + FILTER_TIME_MAX)), ..self }
    }

    /// Looks whether the client still waits and whether there is time left.
    ///
    /// # Errors
    /// Internal, once `stop` is set; the server does not report it, as the client is gone. The scope's code, once its time
    /// is over.
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

/// Experimental features that concern searches.
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
