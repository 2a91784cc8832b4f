//! Replaces filters on documents of other indexes by lists of their ids.
//!
//! 1. The first foreign key of a field determines the other index.
//! 2. `_foreign(field, filter)` becomes `field IN [ids]`, with the ids of all documents there that pass.
//! 3. Documents that the request may not read do not pass.
//!
//! Source: search §20.2.

use std::sync::Arc;

use filter_grammar::{Filter, Operator, Reference, Spanned, Text};
use roaring::RoaringBitmap;
use serde_json::Value as Json;

use super::evaluate::select;
use super::expression::{Expression, parse};
use super::foreign_indexes::Access;
use super::limits::FOREIGN_SELECTED_MAX;
use super::scope::{Foreign, Scope};
use crate::error::{Error, Result};
use crate::fields::{id_from, values_named};
use crate::store::Snapshot;

type ForeignFilter = Spanned<Reference>;

/// Replaces filters on other indexes by lists of ids, if the scope allows them.
///
/// # Errors
/// `invalid_search_filter` for a field that is not a foreign key, a nested filter or too many documents;
/// `invalid_api_key`, `index_not_found`; `invalid_document_filter` for mistakes that depend on the other index.
pub(super) fn with_foreign_ids(expression: Expression, scope: &Scope<'_>) -> Result<Expression> {
    let Some(foreign) = scope.foreign else { return Ok(expression) };
    let each = |parts: Vec<Expression>| -> Result<Vec<Expression>> {
        parts.into_iter().map(|part| with_foreign_ids(part, scope)).collect()
    };
    Ok(match expression {
        Expression::All(parts) => Expression::All(each(parts)?),
        Expression::Any(parts) => Expression::Any(each(parts)?),
        Expression::Text { source, tree } if first_foreign(&tree).is_some() => {
            let tree = Arc::new(resolved(&tree, &Resolution { source: &source, scope, foreign })?);
            Expression::Text { source, tree }
        }
        text @ Expression::Text { .. } => text,
    })
}

/// # Errors
/// `invalid_search_filter` if an expression uses other indexes.
pub(super) fn require_own(expression: &Expression) -> Result<()> {
    match expression {
        Expression::All(parts) | Expression::Any(parts) => parts.iter().try_for_each(require_own),
        Expression::Text { source, tree } => match first_foreign(tree) {
            Some(foreign) => {
                Err(refused("invalid_search_filter", "`_foreign` cannot be used here", source, foreign))
            }
            None => Ok(()),
        },
    }
}

/// Returns the documents of another index that a request may read. `filter`: see [`Access::Granted`].
///
/// # Errors
/// `invalid_search_filter`.
pub fn readable(snapshot: &Snapshot, filter: &Json, scope: &Scope<'_>) -> Result<Arc<RoaringBitmap>> {
    let scope = Scope { code: "invalid_search_filter", foreign: None, ..scope.timed() };
    match parse(filter, &scope)? {
        Some(expression) => select(snapshot, &expression, &scope),
        None => Ok(snapshot.shared_documents()),
    }
}

struct Resolution<'a> {
    source: &'a Arc<str>,
    scope: &'a Scope<'a>,
    foreign: Foreign<'a>,
}

fn resolved(filter: &Filter, resolution: &Resolution<'_>) -> Result<Filter> {
    let each = |parts: &[Filter]| -> Result<Vec<Filter>> {
        parts.iter().map(|part| resolved(part, resolution)).collect()
    };
    Ok(match filter {
        Filter::All(parts) => Filter::All(each(parts)?),
        Filter::Any(parts) => Filter::Any(each(parts)?),
        Filter::Not(part) => Filter::Not(Box::new(resolved(part, resolution)?)),
        Filter::Foreign(foreign) => {
            let texts = selected_ids(foreign, resolution)?.into_iter();
            let operator =
                Operator::In(texts.map(|value| Text { value, span: foreign.span.clone() }).collect());
            Filter::Condition { field: foreign.value.field.clone(), operator }
        }
        other => other.clone(),
    })
}

fn selected_ids(filter: &ForeignFilter, resolution: &Resolution<'_>) -> Result<Vec<String>> {
    let Resolution { source, scope, foreign } = resolution;
    let Reference { field, filter: inner } = &filter.value;
    let invalid = |cause: &str| refused("invalid_search_filter", cause, source, filter);
    let Some(key) = foreign.keys.iter().find(|key| key.field_name == field.value) else {
        return Err(invalid(&format!("`{}` is not among the `foreignKeys` of the index", field.value)));
    };
    if first_foreign(inner).is_some() {
        return Err(invalid("`_foreign` cannot be used inside `_foreign`"));
    }
    let (index, readable_filter) = match &key.access {
        Access::Granted { index, filter } => (index, filter),
        Access::Missing => return Err(key.not_found()),
        Access::Refused { message } => return Err(refused("invalid_api_key", message, source, filter)),
    };
    let snapshot = foreign.indexes.snapshot(index)?;
    let expression = Expression::Text { source: Arc::clone(source), tree: Arc::new((**inner).clone()) };
    let there = Scope {
        code: "invalid_document_filter",
        index_uid: Some(&key.foreign_index_uid),
        foreign: None,
        ..**scope
    };
    let found = &*select(&snapshot, &expression, &there)? & &*readable(&snapshot, readable_filter, &there)?;
    if foreign.indexes.add_selected(index, &found) > FOREIGN_SELECTED_MAX {
        return Err(invalid(&format!(
            "`_foreign` selects more than {FOREIGN_SELECTED_MAX} documents of the index `{}`",
            key.foreign_index_uid
        )));
    }
    found.iter().map(|docid| id_of(&snapshot, docid)).collect()
}

/// Returns the id of a live document.
fn id_of(snapshot: &Snapshot, docid: u32) -> Result<String> {
    let document = snapshot.document(docid)?.unwrap_or_default();
    let id = values_named(snapshot.primary_key().unwrap_or_default(), &document)
        .first()
        .and_then(|id| id_from(id));
    id.ok_or_else(|| Error::internal("a selected document has lost its id", format!("docid {docid}")))
}

fn first_foreign(filter: &Filter) -> Option<&ForeignFilter> {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().find_map(first_foreign),
        Filter::Not(part) => first_foreign(part),
        Filter::Foreign(foreign) => Some(foreign),
        _ => None,
    }
}

fn refused(code: &'static str, cause: &str, source: &str, filter: &ForeignFilter) -> Error {
    Error::user(code, format!("{cause}\n{}", filter_grammar::Error::locate(source, &filter.span)))
}
