//! Who asks for a filter, and what that allows.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Who asks, which decides how mistakes are reported and what is allowed.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Code of a filter that does not parse or names what cannot be filtered.
    pub code: &'static str,
    /// Begins messages about the index; None where the route shows none.
    pub index_uid: Option<&'a str>,
    /// Operators of experimental features.
    pub features: Features,
    /// Set once the filter is of no use any more.
    pub stop: Option<&'a AtomicBool>,
}

impl Scope<'_> {
    /// # Errors
    /// The filter is of no use any more: an internal error, which the server keeps to itself then.
    pub(super) fn check(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                Err(Error::internal("a filter was given up", "its client is gone"))
            }
            _ => Ok(()),
        }
    }
}

/// Experimental features that allow operators.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Features {
    /// `CONTAINS`.
    pub contains_filter: bool,
    /// Totals are cut at `maxTotalHits`; filters never look at it.
    pub legacy_search: bool,
    /// `_vectors … EXISTS`.
    pub multimodal: bool,
    /// `_foreign(…)` is refused as not supported, or as switched off.
    pub foreign_keys: bool,
}
