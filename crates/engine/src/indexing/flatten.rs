//! Converts a document to words, columns and presence terms.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::json::{Json, Object};
use crate::analysis::{Analyzer, TokenKind};
use crate::error::{Error, Result};
use crate::facets::{BOX_COLUMNS, bounding_boxes, column_term, is_deferred, shapes_of};
use crate::fields::{FieldId, FieldMap, is_same_or_below};
use crate::store::schema::{self, LENGTH_MAX, POSITIONS_MAX, Presence, WORD_BYTES_MAX, attribute_suffix};
use crate::store::{ColumnValue, IndexedDocument, PackedText};

/// Distance between words with a hard separator between them, and between leaves of a field.
/// Source: search §3.2.
const FAR: u32 = 8;

/// Settings for flattening the documents of a commit.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Splits texts into tokens.
    pub analyzer: &'a Analyzer,
    /// All paths of all documents of the commit.
    pub fields: &'a FieldMap,
    /// True if long strings at a path go into its column at once.
    pub wants_column: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Flattens documents one after another. Caches terms that documents share.
pub struct Flattener<'a> {
    rules: Rules<'a>,
    terms: Terms,
    /// Bytes of the packed words of the last document, used as the capacity for the next one.
    packed_bytes: usize,
}

/// Terms shared by many documents, so that each is formatted only once.
#[derive(Default)]
struct Terms {
    presence: FxHashMap<(Presence, FieldId), Arc<str>>,
    lengths: FxHashMap<(FieldId, u8), Arc<str>>,
}

const RESERVED: [&str; 3] = ["_geo", "_geojson", "_vectors"];

/// Returns true if a path is reserved. Words and values of reserved fields are not indexed like those of other fields.
pub fn is_reserved(path: &str) -> bool {
    RESERVED.iter().any(|name| is_same_or_below(name, path))
}

impl<'a> Flattener<'a> {
    /// Creates a flattener without cached terms.
    pub fn new(rules: Rules<'a>) -> Self {
        Self { rules, terms: Terms::default(), packed_bytes: 0 }
    }

    /// Flattens a document. `source` is its JSON, which is stored.
    ///
    /// # Errors
    /// Internal, if a path of the document is not in the field map.
    pub fn flatten(
        &mut self,
        docid: u32,
        id: &str,
        document: &Object<'_>,
        source: Vec<u8>,
    ) -> Result<IndexedDocument> {
        let mut visit = Visit {
            of: &self.rules,
            path: String::new(),
            counters: FxHashMap::default(),
            text: PackedText::with_capacity(self.packed_bytes),
            presence: Vec::new(),
            columns: Vec::new(),
        };
        for (key, value) in document.iter().filter(|(key, _)| *key != "_vectors") {
            visit.path.clear();
            visit.path.push_str(key);
            let field = visit.field()?;
            visit.presence.push((Presence::TopLevel, field));
            if RESERVED.contains(&key) {
                visit.mark(field, value);
                visit.reserved(field, key, &value.to_value());
            } else if !is_reserved(key) {
                visit.mark(field, value);
                visit.value(field, value, Parent::Document)?;
            }
        }
        let Visit { counters, text, mut presence, columns, .. } = visit;
        presence.sort_unstable();
        presence.dedup();
        let mut lengths: Vec<(FieldId, u8)> = counters
            .iter()
            .filter(|(_, counter)| (1..=LENGTH_MAX).contains(&counter.stored))
            .map(|(&field, counter)| (field, counter.stored as u8))
            .collect();
        lengths.sort_unstable();
        self.packed_bytes = text.as_str().len();
        let fields = self.rules.fields;
        let presence = presence.into_iter().map(|what| self.terms.presence(fields, what)).collect();
        let lengths = lengths.into_iter().map(|what| self.terms.length(what)).collect();
        Ok(IndexedDocument { docid, id: id.to_owned(), source, text, lengths, presence, columns })
    }
}

impl Terms {
    fn presence(&mut self, fields: &FieldMap, (kind, field): (Presence, FieldId)) -> Arc<str> {
        let spell = || {
            let path = fields.name(field).expect("the field map gave this id");
            schema::presence_term(kind, path).into()
        };
        Arc::clone(self.presence.entry((kind, field)).or_insert_with(spell))
    }

    fn length(&mut self, (field, words): (FieldId, u8)) -> Arc<str> {
        Arc::clone(self.lengths.entry((field, words)).or_insert_with(|| length_term(words, field).into()))
    }
}

/// Formats the term of the number of words of a field: decimal ‖ 0 ‖ suffix of the field.
fn length_term(words: u8, field: FieldId) -> String {
    let suffix = attribute_suffix(field).map(char::from);
    format!("{words}\0{}", String::from_iter(suffix))
}

/// Calls `take` with every path of a document, parents included. Reserved fields are not descended into.
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

/// Position of the next word of a field.
#[derive(Default)]
struct Counter {
    position: u32,
    visited: bool,
    stored: usize,
}

/// Container of a value. An array or object inside an object increases the position of words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Document,
    Object,
    Array,
}

struct Visit<'a> {
    of: &'a Rules<'a>,
    path: String,
    counters: FxHashMap<FieldId, Counter>,
    text: PackedText,
    /// Presence terms in the order found, with repeats.
    presence: Vec<(Presence, FieldId)>,
    columns: Vec<(Arc<str>, ColumnValue)>,
}

impl Visit<'_> {
    /// Notes the presence of the field at the current path.
    fn mark(&mut self, field: FieldId, value: &Json<'_>) {
        self.presence.push((Presence::Exists, field));
        let empty = match value {
            Json::Null => {
                self.presence.push((Presence::Null, field));
                false
            }
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(object) => object.is_empty(),
            Json::Bool(_) | Json::Number(_) => false,
        };
        if empty {
            self.presence.push((Presence::Empty, field));
        }
    }

    /// Notes the value of a reserved field.
    fn reserved(&mut self, field: FieldId, key: &str, value: &Value) {
        match key {
            "_geo" => self.columns.extend(geo_columns(value)),
            "_geojson" => self.columns.extend(shape_columns(value)),
            _ => {}
        }
        if !super::geo_fields::is_well_formed(key, value) {
            self.presence.push((Presence::Malformed, field));
        }
    }

    fn value(&mut self, field: FieldId, value: &Json<'_>, parent: Parent) -> Result<()> {
        let container = matches!(value, Json::Array(_) | Json::Object(_));
        if container && parent == Parent::Object {
            self.start_value(field);
        }
        match value {
            Json::Null => {
                self.start_value(field);
            }
            Json::Bool(truth) => {
                let text = if *truth { "true" } else { "false" };
                self.words(field, text);
                self.column_string(field, text);
            }
            Json::Number(number) => {
                self.words(field, &number.to_string());
                if let Some(number) = number.as_f64() {
                    self.column(field, ColumnValue::Number(number));
                }
            }
            Json::String(text) => {
                self.words(field, text);
                self.column_string(field, text);
            }
            Json::Array(items) => {
                if items.is_empty() {
                    self.start_value(field);
                }
                for item in items {
                    self.value(field, item, Parent::Array)?;
                }
            }
            Json::Object(object) => {
                if object.is_empty() {
                    self.start_value(field);
                }
                for (key, value) in object.iter() {
                    let length = self.path.len();
                    self.path.push('.');
                    self.path.push_str(key);
                    let below = self.field()?;
                    self.mark(below, value);
                    self.value(below, value, Parent::Object)?;
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

    /// Advances the position of a field before a value, unless the value is its first. Returns the position.
    fn start_value(&mut self, field: FieldId) -> u32 {
        let counter = self.counters.entry(field).or_default();
        if counter.visited {
            counter.position = counter.position.saturating_add(FAR);
        }
        counter.visited = true;
        counter.position
    }

    fn words(&mut self, field: FieldId, text: &str) {
        let start = self.start_value(field);
        if start >= POSITIONS_MAX {
            return;
        }
        let locales = self.of.analyzer.locales_of(&self.path);
        let (mut position, mut last, mut stored) = (start, start, 0);
        // `None` before the first word: separators before it do not change its position.
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
    }

    fn column_string(&mut self, field: FieldId, text: &str) {
        if is_deferred(text) && !(self.of.wants_column)(&self.path) {
            self.presence.push((Presence::Deferred, field));
        } else if let Some(term) = column_term(text) {
            self.column(field, ColumnValue::String(term));
        }
    }

    fn column(&mut self, field: FieldId, value: ColumnValue) {
        let name = self.of.fields.shared_name(field).expect("the field map gave this id");
        self.columns.push((name, value));
    }
}

/// Converts the latitude and longitude of a `_geo` to columns; leaves out those that are not numbers.
fn geo_columns(geo: &Value) -> Vec<(Arc<str>, ColumnValue)> {
    let Value::Object(geo) = geo else { return Vec::new() };
    let columns = ["lat", "lng"].iter().filter_map(|key| {
        let number = super::geo_fields::coordinate(geo.get(*key)?)?;
        Some((Arc::from(format!("_geo.{key}")), ColumnValue::Number(number)))
    });
    columns.collect()
}

/// Converts the bounding boxes of the shapes of a `_geojson` to columns; none if it is malformed.
fn shape_columns(value: &Value) -> Vec<(Arc<str>, ColumnValue)> {
    let mut columns = Vec::new();
    for sides in bounding_boxes(&shapes_of(value).unwrap_or_default()) {
        let sides = BOX_COLUMNS.iter().zip(sides);
        columns.extend(sides.map(|(name, side)| (Arc::from(*name), ColumnValue::Number(side))));
    }
    columns
}
