use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use filter_grammar::{Filter, Operator, Reference, Spanned};
use serde_json::Value as Json;

use super::scope::Scope;
use crate::error::{Error, Result};

/// A parsed filter that only uses allowed operators.
#[derive(Debug, Clone)]
pub enum Expression {
    /// Every part must hold.
    All(Vec<Expression>),
    /// At least one part must hold.
    Any(Vec<Expression>),
    /// A text with one or several conditions.
    Text {
        /// The text as given.
        source: Arc<str>,
        /// The syntax tree of the text.
        tree: Arc<Filter>,
    },
}

/// Compares the meaning of expressions: the spelling of their texts does not count.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All(parts), Self::All(others)) | (Self::Any(parts), Self::Any(others)) => parts == others,
            (Self::Text { tree, .. }, Self::Text { tree: other, .. }) => tree == other,
            _ => false,
        }
    }
}

impl Eq for Expression {}

impl Hash for Expression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::All(parts) | Self::Any(parts) => parts.hash(state),
            Self::Text { tree, .. } => tree.hash(state),
        }
    }
}

impl Expression {
    /// Returns the filter on elements with its source, if the expression is one.
    pub(super) fn element(&self) -> Option<(&Spanned<Reference>, &str)> {
        match self {
            Self::Text { source, tree } => match &**tree {
                Filter::Element(element) => Some((element, source)),
                _ => None,
            },
            Self::All(_) | Self::Any(_) => None,
        }
    }

    /// Heap memory of the expression in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                size_of_val(&**parts) + parts.iter().map(Self::heap_bytes).sum::<usize>()
            }
            Self::Text { source, tree } => source.len() + size_of::<Filter>() + tree.heap_bytes(),
        }
    }
}

/// Parses the `filter` of a request; `None` if it is null or blank.
///
/// # Errors
/// The scope's code if it has the wrong shape or does not parse; `feature_not_enabled` if it needs a disabled feature.
pub fn parse(filter: &Json, scope: &Scope<'_>) -> Result<Option<Expression>> {
    let wrong = |found: &Json| {
        let message = format!(
            "invalid value at `.filter`: expected a string or an array of strings and arrays of strings, found \
             `{found}`"
        );
        Err(Error::user(scope.code, message))
    };
    let mut texts_left = filter_grammar::TEXTS_MAX;
    let mut text = |source: &str| text(source, scope, &mut texts_left);
    let all = match filter {
        Json::Null => return Ok(None),
        Json::String(source) => return text(source),
        Json::Array(all) => all,
        found => return wrong(found),
    };
    let mut parts = Vec::new();
    for part in all {
        match part {
            Json::String(source) => parts.extend(text(source)?),
            Json::Array(any) => {
                let mut alternatives = Vec::new();
                for part in any {
                    let Json::String(source) = part else { return wrong(part) };
                    alternatives.extend(text(source)?);
                }
                if !alternatives.is_empty() {
                    parts.push(Expression::Any(alternatives));
                }
            }
            found => return wrong(found),
        }
    }
    Ok(if parts.is_empty() { None } else { Some(Expression::All(parts)) })
}

/// Parses a text; `None` if it is blank. `texts_left`: number of operands left for the rest of the filter.
fn text(source: &str, scope: &Scope<'_>, texts_left: &mut usize) -> Result<Option<Expression>> {
    scope.check()?;
    let tree = filter_grammar::parse_within(source, texts_left)
        .map_err(|error| Error::user(scope.code, error.to_string()))?;
    let Some(tree) = tree else { return Ok(None) };
    check_features(&tree, source, scope)?;
    Ok(Some(Expression::Text { source: source.into(), tree: Arc::new(tree) }))
}

fn check_features(tree: &Filter, source: &str, scope: &Scope<'_>) -> Result<()> {
    let features = scope.features;
    match tree {
        Filter::All(parts) | Filter::Any(parts) => {
            parts.iter().try_for_each(|part| check_features(part, source, scope))
        }
        Filter::Not(part) => check_features(part, source, scope),
        Filter::Condition { operator: Operator::Contains(text), .. } if !features.contains_filter => {
            Err(disabled("using `CONTAINS` in a filter", "contains filter", 763, source, &text.span))
        }
        Filter::Vectors(Spanned { span, .. }) if !features.multimodal => {
            Err(disabled("using a vector filter", "multimodal", 846, source, span))
        }
        Filter::Foreign(Spanned { span, .. }) if !features.foreign_keys => {
            Err(disabled("using `_foreign` in a filter", "foreign keys", 873, source, span))
        }
        Filter::Foreign(Spanned { value: Reference { filter, .. }, .. })
        | Filter::Element(Spanned { value: Reference { filter, .. }, .. }) => {
            check_features(filter, source, scope)
        }
        Filter::Condition { .. }
        | Filter::Vectors(_)
        | Filter::GeoRadius(_)
        | Filter::GeoBoundingBox(_)
        | Filter::GeoPolygon(_) => Ok(()),
    }
}

fn disabled(what: &str, feature: &str, discussion: u32, source: &str, span: &Range<usize>) -> Error {
    let message = format!(
        "{what} requires enabling the `{feature}` experimental feature. See \
         https://github.com/orgs/meilisearch/discussions/{discussion}\n{}",
        filter_grammar::Error::locate(source, span)
    );
    Error::user("feature_not_enabled", message)
}
