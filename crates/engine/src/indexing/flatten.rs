//! Here is a document, give me everything that is written about it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::analysis::{Analyzer, TokenKind};
use crate::error::{Error, Result};
use crate::facets::{BORDERS, borders, column_term, is_late, shapes_of};
use crate::fields::{FieldId, FieldMap, is_same_or_below};
use crate::store::schema::{self, LENGTH_MAX, POSITIONS_MAX, Presence, WORD_BYTES_MAX, attribute_suffix};
use crate::store::{ColumnValue, IndexedDocument, PackedText};

/// Distance between two words with a hard separator between them, and between two leaves of a field.
/// Source: search-semantics.md §3.2.
const FAR: u32 = 8;

/// How documents of one commit are taken apart.
pub struct Flattener<'a> {
    /// Cuts texts.
    pub analyzer: &'a Analyzer,
    /// Knows every path of every document of the commit.
    pub fields: &'a FieldMap,
    /// Whether long strings at this path go to its column at once.
    pub wants_column: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Whether words and values of `path` are kept out of the index, because it has its own treatment.
pub fn is_reserved(path: &str) -> bool {
    ["_geo", "_geojson", "_vectors"].iter().any(|name| is_same_or_below(name, path))
}

impl Flattener<'_> {
    /// Takes a document apart. `source` is what will be given back.
    ///
    /// # Errors
    /// Internal, if a path of the document is not in the field map.
    pub fn flatten(&self, docid: u32, id: &str, document: &Map<String, Value>) -> Result<IndexedDocument> {
        let mut visit = Visit {
            of: self,
            path: String::new(),
            counters: HashMap::new(),
            text: PackedText::default(),
            presence: Vec::new(),
            columns: Vec::new(),
        };
        for (key, value) in document {
            if key == "_vectors" {
                continue;
            }
            visit.presence.push(schema::presence_term(Presence::TopLevel, key));
            visit.path.clear();
            visit.path.push_str(key);
            visit.mark(value);
            if !is_reserved(key) {
                visit.value(value, Parent::Document)?;
            } else {
                match key.as_str() {
                    "_geo" => visit.columns.extend(geo_columns(value)),
                    "_geojson" => visit.columns.extend(shape_columns(value)),
                    _ => {}
                }
                if !super::special::is_well_formed(key, value) {
                    visit.presence.push(schema::presence_term(Presence::Malformed, key));
                }
            }
        }
        let mut lengths: Vec<String> = visit
            .counters
            .iter()
            .filter(|(_, counter)| (1..=LENGTH_MAX).contains(&counter.stored))
            .map(|(&field, counter)| length_term(counter.stored, field))
            .collect();
        lengths.sort_unstable();
        let mut presence = visit.presence;
        presence.sort_unstable();
        presence.dedup();
        Ok(IndexedDocument {
            docid,
            id: id.to_owned(),
            source: serde_json::to_vec(document)
                .map_err(|source| Error::internal("a document cannot be written as JSON", source))?,
            text: visit.text,
            lengths,
            presence,
            columns: visit.columns,
        })
    }
}

/// decimal ‖ 0 ‖ suffix
fn length_term(words: usize, field: FieldId) -> String {
    let suffix = attribute_suffix(field).map(char::from);
    format!("{words}\0{}", String::from_iter(suffix))
}

/// Calls `take` with every path of a document, parents included. Reserved fields count by their own name.
pub fn each_path(document: &Map<String, Value>, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    fn walk(value: &Value, path: &mut String, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| walk(item, path, take)),
            Value::Object(object) => object.iter().try_for_each(|(key, value)| {
                let length = path.len();
                path.push('.');
                path.push_str(key);
                take(path)?;
                walk(value, path, take)?;
                path.truncate(length);
                Ok(())
            }),
            _ => Ok(()),
        }
    }
    let mut path = String::new();
    for (key, value) in document {
        take(key)?;
        if !is_reserved(key) {
            path.clear();
            path.push_str(key);
            walk(value, &mut path, take)?;
        }
    }
    Ok(())
}

/// Where a field's next word goes.
#[derive(Default)]
struct Counter {
    position: u32,
    visited: bool,
    stored: usize,
}

/// What a value lies in; decides whether the container itself takes a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Document,
    Object,
    Array,
}

struct Visit<'a> {
    of: &'a Flattener<'a>,
    path: String,
    counters: HashMap<FieldId, Counter>,
    text: PackedText,
    presence: Vec<String>,
    columns: Vec<(Arc<str>, ColumnValue)>,
}

impl Visit<'_> {
    /// Presence of the key at the current path.
    fn mark(&mut self, value: &Value) {
        self.presence.push(schema::presence_term(Presence::Exists, &self.path));
        let empty = match value {
            Value::Null => {
                self.presence.push(schema::presence_term(Presence::Null, &self.path));
                false
            }
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => object.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        if empty {
            self.presence.push(schema::presence_term(Presence::Empty, &self.path));
        }
    }

    fn value(&mut self, value: &Value, parent: Parent) -> Result<()> {
        let container = matches!(value, Value::Array(_) | Value::Object(_));
        if container && parent == Parent::Object {
            self.arrive()?;
        }
        match value {
            Value::Null => {
                self.arrive()?;
            }
            Value::Bool(truth) => {
                let text = if *truth { "true" } else { "false" };
                self.words(text)?;
                self.column_string(text)?;
            }
            Value::Number(number) => {
                self.words(&number.to_string())?;
                if let Some(number) = number.as_f64() {
                    self.column(ColumnValue::Number(number))?;
                }
            }
            Value::String(text) => {
                self.words(text)?;
                self.column_string(text)?;
            }
            Value::Array(items) => {
                if items.is_empty() {
                    self.arrive()?;
                }
                for item in items {
                    self.value(item, Parent::Array)?;
                }
            }
            Value::Object(object) => {
                if object.is_empty() {
                    self.arrive()?;
                }
                for (key, value) in object {
                    let length = self.path.len();
                    self.path.push('.');
                    self.path.push_str(key);
                    self.mark(value);
                    self.value(value, Parent::Object)?;
                    self.path.truncate(length);
                }
            }
        }
        Ok(())
    }

    fn field(&self) -> Result<FieldId> {
        self.of.fields.id(&self.path).ok_or_else(|| {
            Error::internal("a document was not prepared", format!("field {:?} has no id", self.path))
        })
    }

    /// Moves the field's counter on; every visit but the first does.
    fn arrive(&mut self) -> Result<(FieldId, u32)> {
        let field = self.field()?;
        let counter = self.counters.entry(field).or_default();
        if counter.visited {
            counter.position = counter.position.saturating_add(FAR);
        }
        counter.visited = true;
        Ok((field, counter.position))
    }

    fn words(&mut self, text: &str) -> Result<()> {
        let (field, start) = self.arrive()?;
        if start >= POSITIONS_MAX {
            return Ok(());
        }
        let locales = self.of.analyzer.locales_of(&self.path);
        let (mut position, mut last, mut stored) = (start, start, 0);
        // None until the first word: separators before it move nothing.
        let mut step = None;
        let packed = &mut self.text;
        self.of.analyzer.each(text, locales, |token| match token.kind {
            TokenKind::Soft => {}
            TokenKind::Hard => step = step.map(|_| FAR),
            TokenKind::Word | TokenKind::StopWord => {
                if token.text.is_empty() {
                    return;
                }
                position = position.saturating_add(step.unwrap_or(0));
                step = Some(1);
                let word = token.text.trim();
                let fits = !word.is_empty() && word.len() <= WORD_BYTES_MAX && position < POSITIONS_MAX;
                if token.kind == TokenKind::Word && fits {
                    packed.push(word, field, position);
                    (last, stored) = (position, stored + 1);
                }
            }
        });
        let counter = self.counters.entry(field).or_default();
        counter.position = last;
        counter.stored += stored;
        Ok(())
    }

    fn column_string(&mut self, text: &str) -> Result<()> {
        if is_late(text) && !(self.of.wants_column)(&self.path) {
            self.presence.push(schema::presence_term(Presence::Late, &self.path));
            return Ok(());
        }
        column_term(text).map_or(Ok(()), |term| self.column(ColumnValue::String(term)))
    }

    fn column(&mut self, value: ColumnValue) -> Result<()> {
        let field = self.field()?;
        let name = self.of.fields.shared_name(field).expect("the field map gave this id");
        self.columns.push((name, value));
        Ok(())
    }
}

/// Latitude and longitude as columns; none if there is no location or it makes no sense.
fn geo_columns(geo: &Value) -> Vec<(Arc<str>, ColumnValue)> {
    let Value::Object(geo) = geo else { return Vec::new() };
    let columns = ["lat", "lng"].iter().filter_map(|key| {
        let number = super::special::coordinate(geo.get(*key)?)?;
        Some((Arc::from(format!("_geo.{key}")), ColumnValue::Number(number)))
    });
    columns.collect()
}

/// The borders of the shapes of a `_geojson` as columns; none if it makes no sense.
fn shape_columns(value: &Value) -> Vec<(Arc<str>, ColumnValue)> {
    let mut columns = Vec::new();
    for border in borders(&shapes_of(value).unwrap_or_default()) {
        let sides = BORDERS.iter().zip(border);
        columns.extend(sides.map(|(name, side)| (Arc::from(*name), ColumnValue::Number(side))));
    }
    columns
}
