use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use roaring::RoaringBitmap;

use super::field_columns::{FieldColumns, OpenField};
use super::segment_column::SegmentColumn;
use super::segment_fields::SegmentFields;
use crate::error::Result;
use crate::store::{SegmentView, Snapshot};

/// Fields whose columns stay open per commit; one field more closes all of them.
const FIELDS_OPEN_MAX: usize = 256;

/// The values of all fields of one commit, for one search, which holds on to tables that it has used. Cheap to make:
/// columns stay open with the commit, and tables are cached.
#[derive(Clone)]
pub struct Columns {
    pub(super) snapshot: Snapshot,
    open: Arc<OpenFields>,
    used: Arc<Mutex<HashMap<String, Arc<FieldColumns>>>>,
}

/// One value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, as f64 whatever it was written as.
    Number(f64),
    /// A string or boolean.
    String {
        /// The form that is compared.
        normalised: String,
        /// The form that was written.
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

    /// Whether any document ever had a value, an object or null at `path`.
    pub fn knows(&self, path: &str) -> bool {
        let fields = self.snapshot.fields();
        fields.id(path).is_some()
            || fields.names().any(|name| name != path && crate::fields::is_same_or_below(path, name))
    }

    /// All values of one document at `path`, numbers first.
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

    /// The columns of `path`, with the tables that this search has used of them.
    pub(super) fn field(&self, path: &str) -> Result<Arc<FieldColumns>> {
        let used = || self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = used().get(path) {
            return Ok(Arc::clone(field));
        }
        let field = Arc::new(FieldColumns::new(&self.snapshot, &*self.open_field(path)?));
        Ok(Arc::clone(used().entry(path.to_owned()).or_insert(field)))
    }

    /// The columns of `path`, open already or opened now.
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

    /// Whether `docids` are more than half of the live documents.
    pub(super) fn are_most(&self, docids: &RoaringBitmap) -> bool {
        docids.len() * 2 > self.snapshot.documents().len()
    }

    /// Documents of `docids` that are live. Columns hold deleted ones until a merge.
    pub(super) fn live(&self, docids: &RoaringBitmap) -> RoaringBitmap {
        docids & self.snapshot.documents()
    }
}
