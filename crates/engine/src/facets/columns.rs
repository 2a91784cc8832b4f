use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use roaring::RoaringBitmap;

use super::field_columns::{FieldColumns, OpenField};
use super::searched_fields::{FieldUse, SearchedFields};
use super::segment_column::SegmentColumn;
use super::segment_fields::SegmentFields;
use crate::error::Result;
use crate::store::{SegmentView, Snapshot};

/// Maximum number of fields with open columns per commit. Another field closes all of them.
const FIELDS_OPEN_MAX: usize = 256;

/// The values of all fields of a commit, for a single search. Keeps the tables that the search has used. Creating it is
/// cheap: the columns stay open as long as the commit, and tables are cached.
#[derive(Clone)]
pub struct Columns {
    pub(super) snapshot: Snapshot,
    open: Arc<OpenFields>,
    used: Arc<Mutex<HashMap<String, Arc<FieldColumns>>>>,
}

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number. All numbers are converted to f64.
    Number(f64),
    /// A string or boolean.
    String {
        /// Normalised form for comparisons.
        normalised: String,
        /// Form in the document.
        original: String,
    },
}

#[derive(Default)]
struct OpenFields(Mutex<HashMap<String, Arc<OpenField>>>);

impl Columns {
    /// The columns of a commit.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self { snapshot: snapshot.clone(), open: snapshot.attachments().get(), used: Arc::default() }
    }

    /// Notes that a search uses the field `path`, so that its columns are prepared for later ones; see [`SearchedFields`].
    pub fn note(&self, used: FieldUse, path: &str) {
        self.snapshot.attachments().get::<SearchedFields>().note(used, path);
    }

    /// Returns true if a document has ever had a value, an object or null at `path`.
    pub fn knows(&self, path: &str) -> bool {
        self.snapshot.fields().id(path).is_some()
    }

    /// Returns all values of a document at `path`, numbers first.
    pub fn values(&self, path: &str, docid: u32) -> Result<Vec<Value>> {
        let field = self.field(path)?;
        let mut values = Vec::new();
        for SegmentColumn { segment, column } in &field.numbers {
            if let Some(doc) = self.segment(*segment).segment_docid(docid) {
                values.extend(column.column.values_for_doc(doc).map(Value::Number));
            }
        }
        for SegmentColumn { segment, column } in &field.strings {
            if let Some(doc) = self.segment(*segment).segment_docid(docid) {
                for ord in column.ords.values_for_doc(doc) {
                    let (normalised, original) = column.text(ord as u32)?;
                    values.push(Value::String { normalised, original });
                }
            }
        }
        Ok(values)
    }

    pub(super) fn segment(&self, position: usize) -> &SegmentView {
        &self.snapshot.segments()[position]
    }

    /// Returns the columns of `path`, with the tables that this search has used.
    pub(super) fn field(&self, path: &str) -> Result<Arc<FieldColumns>> {
        let used = || self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = used().get(path) {
            return Ok(Arc::clone(field));
        }
        let field = Arc::new(FieldColumns::new(&self.snapshot, &*self.open_field(path)?));
        Ok(Arc::clone(used().entry(path.to_owned()).or_insert(field)))
    }

    /// Returns the columns of `path`, opened if necessary.
    fn open_field(&self, path: &str) -> Result<Arc<OpenField>> {
        let mut open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = open.get(path) {
            return Ok(Arc::clone(field));
        }
        drop(open);
        let mut field = OpenField::default();
        for (segment, view) in self.snapshot.segments().iter().enumerate() {
            let columns = view.attachments().get::<SegmentFields>().field(&self.snapshot, view, path)?;
            field.numbers.extend(columns.numbers.map(|column| (segment, column)));
            field.strings.extend(columns.strings.into_iter().map(|column| (segment, column)));
        }
        let field = Arc::new(field);
        open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= FIELDS_OPEN_MAX {
            open.clear();
        }
        Ok(Arc::clone(open.entry(path.to_owned()).or_insert(field)))
    }

    /// Returns true if `docids` are more than half of the live documents.
    pub(super) fn are_most(&self, docids: &RoaringBitmap) -> bool {
        docids.len() * 2 > self.snapshot.documents().len()
    }

    /// Returns the live documents of `docids`. Columns contain deleted documents until a merge.
    pub(super) fn live(&self, docids: &RoaringBitmap) -> RoaringBitmap {
        docids & self.snapshot.documents()
    }
}
