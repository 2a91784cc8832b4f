//! Evaluates or checks the filter of a request.

use std::sync::Arc;

use roaring::RoaringBitmap;
use serde_json::Value as Json;

use super::evaluate::select;
use super::expression::parse;
use super::foreign::{require_own, with_foreign_ids};
use super::scope::{Features, Scope};
use crate::error::{Context, Result};
use crate::store::Snapshot;

/// Returns the live documents selected by the filter of a request; all if there is no filter. `filter`: see [`parse`].
///
/// # Errors
/// Same as [`parse`], [`with_foreign_ids`] and [`select`].
pub fn passing(snapshot: &Snapshot, filter: &Json, scope: &Scope<'_>) -> Result<Arc<RoaringBitmap>> {
    let scope = &scope.timed();
    match parse(filter, scope)? {
        Some(expression) => select(snapshot, &with_foreign_ids(expression, scope)?, scope),
        None => Ok(snapshot.shared_documents()),
    }
}

/// Checks that a filter parses, independent of any index. `request`: a `FilterCheck` as UTF-8 JSON.
///
/// # Errors
/// `invalid_search_filter`, also if it uses other indexes; `feature_not_enabled` if it needs a disabled feature.
pub fn check(request: &[u8]) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Check {
        filter: Json,
        features: Features,
    }
    let Check { filter, features } = serde_json::from_slice(request).context("a request does not parse")?;
    let scope = Scope {
        code: "invalid_search_filter",
        index_uid: None,
        features,
        stop: None,
        until: None,
        foreign: None,
    };
    match parse(&filter, &scope)? {
        Some(expression) => require_own(&expression),
        None => Ok(()),
    }
}
