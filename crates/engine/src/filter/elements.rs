//! Evaluates filters on the elements of a field: a document matches if a single element passes the complete filter.
//!
//! 1. The elements of a field are the objects at its path, alone, in arrays or in nested arrays.
//! 2. The filter selects elements as it would select documents with one element each.
//! 3. A document is read only if its elements together have the values required by the filter.
//!
//! Source: search §12.5.

use filter_grammar::{Filter, Operator, Reference, Spanned, Text};
use roaring::RoaringBitmap;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::element_test::{Clock, ElementTest, any_object};
use super::evaluate::Evaluation;
use super::limits::ELEMENT_DOCUMENTS_MAX;
use crate::error::{Context, Result};
use crate::fields::is_same_or_below;

impl Evaluation<'_> {
    /// Returns documents with a matching element. `within`: documents that pass the rest of the filter; other documents
    /// need not be read.
    pub(super) fn by_element(
        &self,
        element: &Spanned<Reference>,
        source: &str,
        within: &RoaringBitmap,
    ) -> Result<RoaringBitmap> {
        let Reference { field, filter } = &element.value;
        let path = field.value.as_str();
        let candidates = self.possible(&below(path, filter), source)? & within;
        let read = self.element_documents.get() + candidates.len();
        if read > ELEMENT_DOCUMENTS_MAX {
            let cause = format!(
                "with the elements of `{path}`, those in {read} documents would have to be read, the most are \
                 {ELEMENT_DOCUMENTS_MAX}; join further conditions by `AND`"
            );
            return Err(self.mistake(self.scope.code, &cause, source, &element.span));
        }
        self.element_documents.set(read);
        let can_hold = |path: &str, operator: &_| Ok(has_column(path) && self.can_hold(path, operator)?);
        let test = ElementTest::new(filter, path, &can_hold)?;
        let mut found = RoaringBitmap::new();
        let clock = Clock::new(self.scope);
        for docid in candidates {
            self.scope.check()?;
            let Some(text) = self.snapshot.source(docid)? else { continue };
            if any_object(&members_towards(&text, path)?, path, &mut |element| test.passes(element, &clock)) {
                found.insert(docid);
            }
            clock.result()?;
        }
        Ok(found)
    }

    /// Returns a superset of the matching documents, based on the values of all their elements together. `filter` uses
    /// full paths.
    fn possible(&self, filter: &Filter, source: &str) -> Result<RoaringBitmap> {
        match filter {
            Filter::All(parts) => {
                let mut found = self.snapshot.documents().clone();
                for part in parts {
                    found &= self.possible(part, source)?;
                }
                Ok(found)
            }
            Filter::Any(parts) => {
                let mut found = RoaringBitmap::new();
                for part in parts {
                    found |= self.possible(part, source)?;
                }
                Ok(found)
            }
            Filter::Not(part) => {
                // Evaluated only to report mistakes: an element with the value says nothing about the others.
                self.possible(part, source)?;
                Ok(self.snapshot.documents().clone())
            }
            Filter::Condition { field, operator: operator @ Operator::NotEqual(_) } => {
                self.check(field, operator, source)?;
                Ok(self.snapshot.documents().clone())
            }
            Filter::Element(Spanned { value: Reference { field, filter }, .. }) => {
                self.possible(&below(&field.value, filter), source)
            }
            filter => self.filter(filter, source),
        }
    }
}

/// Returns true if values at a path are in columns. Values below reserved fields are not.
fn has_column(path: &str) -> bool {
    !["_geo.", "_geojson.", "_vectors."].iter().any(|reserved| path.starts_with(reserved))
}

/// Prefixes the paths of a filter with `path`. Paths inside nested element filters stay relative to their own elements.
fn below(path: &str, filter: &Filter) -> Filter {
    let each = |parts: &[Filter]| parts.iter().map(|part| below(path, part)).collect();
    let within = |field: &Text| Text { value: format!("{path}.{}", field.value), span: field.span.clone() };
    match filter {
        Filter::All(parts) => Filter::All(each(parts)),
        Filter::Any(parts) => Filter::Any(each(parts)),
        Filter::Not(part) => Filter::Not(Box::new(below(path, part))),
        Filter::Condition { field, operator } => {
            Filter::Condition { field: within(field), operator: operator.clone() }
        }
        Filter::Element(Spanned { value: Reference { field, filter }, span }) => {
            let inner = Reference { field: within(field), filter: filter.clone() };
            Filter::Element(Spanned { value: inner, span: span.clone() })
        }
        other => other.clone(),
    }
}

/// Parses only the members of a stored document whose keys are on the way to a path.
fn members_towards(document: &[u8], path: &str) -> Result<Map<String, Value>> {
    struct Towards<'p>(&'p str);
    impl<'de> Visitor<'de> for Towards<'_> {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
            let mut members = Map::new();
            while let Some(key) = map.next_key::<String>()? {
                if is_same_or_below(&key, self.0) {
                    members.insert(key, map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_slice(document)
        .deserialize_map(Towards(path))
        .context("a stored document does not parse")
}
