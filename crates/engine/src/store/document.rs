//! A document to be written, passed to tantivy without a copy in its own document type.

use std::sync::Arc;

use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};

use super::packed::PackedText;
use super::schema::Fields;

/// All data that is written for one document.
#[derive(Debug, Clone)]
pub struct IndexedDocument {
    /// The docid.
    pub docid: u32,
    /// Primary key as text.
    pub id: String,
    /// Canonical JSON bytes.
    pub source: Vec<u8>,
    /// Words with fields and positions.
    pub text: PackedText,
    /// Terms of `lengths`.
    pub lengths: Vec<Arc<str>>,
    /// Terms of `presence`, without repeats.
    pub presence: Vec<Arc<str>>,
    /// Values by path; a path is repeated for each of its values.
    pub columns: Vec<(Arc<str>, ColumnValue)>,
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValue {
    /// A number.
    Number(f64),
    /// normalised ‖ 0 ‖ original
    String(String),
}

impl IndexedDocument {
    /// Combines the document with the fields that tantivy writes it to.
    pub fn with_fields(self, fields: Fields) -> WrittenDocument {
        WrittenDocument { document: self, fields }
    }
}

/// A document with the tantivy fields of its parts, in the form that tantivy takes.
pub struct WrittenDocument {
    document: IndexedDocument,
    fields: Fields,
}

/// A borrowed value of a document.
#[derive(Debug, Clone, Copy)]
pub enum WrittenValue<'a> {
    /// Text or a term.
    Str(&'a str),
    /// The source.
    Bytes(&'a [u8]),
    /// The docid.
    U64(u64),
    /// A value of a column.
    F64(f64),
    /// All columns.
    Columns(&'a [(Arc<str>, ColumnValue)]),
}

impl<'a> Value<'a> for WrittenValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = Columns<'a>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        match *self {
            Self::Str(text) => ReferenceValue::Leaf(ReferenceValueLeaf::Str(text)),
            Self::Bytes(bytes) => ReferenceValue::Leaf(ReferenceValueLeaf::Bytes(bytes)),
            Self::U64(number) => ReferenceValue::Leaf(ReferenceValueLeaf::U64(number)),
            Self::F64(number) => ReferenceValue::Leaf(ReferenceValueLeaf::F64(number)),
            Self::Columns(columns) => ReferenceValue::Object(Columns { rest: columns.iter() }),
        }
    }
}

/// The columns as the iterator of an object, as tantivy reads them.
pub struct Columns<'a> {
    rest: std::slice::Iter<'a, (Arc<str>, ColumnValue)>,
}

impl<'a> Iterator for Columns<'a> {
    type Item = (&'a str, WrittenValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next().map(|(path, value)| {
            let value = match value {
                ColumnValue::Number(number) => WrittenValue::F64(*number),
                ColumnValue::String(text) => WrittenValue::Str(text),
            };
            (path.as_ref(), value)
        })
    }
}

impl WrittenDocument {
    /// Returns the docid.
    pub(super) fn docid(&self) -> u32 {
        self.document.docid
    }

    /// Returns its words.
    pub(super) fn text(&self) -> &PackedText {
        &self.document.text
    }
}

impl Document for WrittenDocument {
    type Value<'a> = WrittenValue<'a>;
    type FieldsValuesIter<'a> = std::vec::IntoIter<(Field, WrittenValue<'a>)>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        let (document, fields) = (&self.document, &self.fields);
        let mut values = Vec::with_capacity(5 + document.lengths.len() + document.presence.len());
        values.push((fields.id, WrittenValue::Str(&document.id)));
        values.push((fields.docid, WrittenValue::U64(u64::from(document.docid))));
        values.push((fields.source, WrittenValue::Bytes(&document.source)));
        values.push((fields.text, WrittenValue::Str(document.text.as_str())));
        values.extend(document.lengths.iter().map(|term| (fields.lengths, WrittenValue::Str(term))));
        values.extend(document.presence.iter().map(|term| (fields.presence, WrittenValue::Str(term))));
        values.push((fields.columns, WrittenValue::Columns(&document.columns)));
        values.into_iter()
    }
}
