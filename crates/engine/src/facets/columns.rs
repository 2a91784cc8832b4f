use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use roaring::RoaringBitmap;
use tantivy::columnar::{DynamicColumn, NumericalType};

use super::deferred;
use super::numbers::NumberColumn;
use super::ranks::Ranks;
use super::strings::StringColumn;
use crate::error::Result;
use crate::store::{SegmentView, Snapshot, schema};
use crate::threads::{in_parallel, shared_out};

/// Fields whose columns stay open per commit; beyond, all are opened anew.
const FIELDS_OPEN_MAX: usize = 256;

/// What is worked out about the fields of a segment may take so many bytes per document, or this many in
/// all; beyond, it is worked out anew.
const WORKED_OUT_BYTES_PER_DOCUMENT: usize = 64;
const WORKED_OUT_BYTES_MIN: usize = 4 << 20;

/// The values of all fields of one commit. Cheap to make: what is worked out stays with the commit, and
/// what does not depend on deletions with its segments.
#[derive(Clone)]
pub struct Columns {
    pub(super) snapshot: Snapshot,
    open: Arc<OpenFields>,
}

/// One value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// As f64, whatever it was written as.
    Number(f64),
    /// Booleans too.
    String {
        /// How it compares.
        normalised: String,
        /// How it was written.
        original: String,
    },
}

#[derive(Default)]
struct OpenFields(Mutex<HashMap<String, Arc<FieldColumns>>>);

/// The columns of one field of a commit. A segment has none, one or several of a kind.
#[derive(Default)]
pub(super) struct FieldColumns {
    pub numbers: Vec<Part<NumberColumn>>,
    pub strings: Vec<Part<StringColumn>>,
    pub number_ranks: OnceLock<Arc<Ranks>>,
    pub string_ranks: OnceLock<Arc<Ranks>>,
}

/// A column of a segment.
pub(super) struct Part<C> {
    /// Its place in the commit.
    pub segment: usize,
    pub column: Arc<C>,
}

/// Columns of fewer documents are no work for a thread.
const SHARED_DOCUMENTS_MIN: u32 = 1 << 15;

/// Has several threads do `work` on large columns, if it is `due` for several of them: they keep what comes of it, so it
/// is there for who asks them in turn. `due` gives how many documents a column has.
pub(super) fn work_out<C: Sync>(
    columns: impl Iterator<Item = C>,
    due: impl Fn(&C) -> Option<u32>,
    work: impl Fn(&C) + Sync,
) {
    let documents = |column: C| Some((due(&column).filter(|docs| *docs >= SHARED_DOCUMENTS_MIN)?, column));
    let large: Vec<(u32, C)> = columns.filter_map(documents).collect();
    if large.len() > 1 {
        in_parallel(&shared_out(large), |share| share.iter().for_each(&work));
    }
}

/// The columns of the fields of one segment. They stay with it from commit to commit.
#[derive(Default)]
pub(super) struct SegmentFields {
    open: Mutex<HashMap<String, Arc<Mutex<Option<SegmentField>>>>>,
    worked_out_bytes: Arc<AtomicUsize>,
}

/// The columns of one field in one segment.
#[derive(Clone, Default)]
struct SegmentField {
    numbers: Option<Arc<NumberColumn>>,
    strings: Vec<Arc<StringColumn>>,
}

impl Columns {
    /// The columns of a commit.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self { snapshot: snapshot.clone(), open: snapshot.attachments().get() }
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
        for Part { segment, column } in &field.numbers {
            if let Some(doc) = self.segment(*segment).segment_docid(docid) {
                values.extend(column.column.values_for_doc(doc).map(Value::Number));
            }
        }
        for Part { segment, column } in &field.strings {
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

    /// Opens the columns of `path`, or finds them open.
    pub(super) fn field(&self, path: &str) -> Result<Arc<FieldColumns>> {
        let mut open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = open.get(path) {
            return Ok(Arc::clone(field));
        }
        drop(open);
        let mut field = FieldColumns::default();
        for (segment, view) in self.snapshot.segments().iter().enumerate() {
            let columns = view.attachments().get::<SegmentFields>().field(&self.snapshot, view, path)?;
            field.numbers.extend(columns.numbers.map(|column| Part { segment, column }));
            field.strings.extend(columns.strings.into_iter().map(|column| Part { segment, column }));
        }
        let field = Arc::new(field);
        open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= FIELDS_OPEN_MAX {
            open.clear();
        }
        Ok(Arc::clone(open.entry(path.to_owned()).or_insert(field)))
    }

    /// Whether they are most of the documents there are.
    pub(super) fn are_most(&self, docids: &RoaringBitmap) -> bool {
        docids.len() * 2 > self.snapshot.documents().len()
    }

    /// Documents of `docids` that are still there. Columns keep deleted ones until a merge.
    pub(super) fn live(&self, docids: &RoaringBitmap) -> RoaringBitmap {
        docids & self.snapshot.documents()
    }
}

impl SegmentFields {
    /// Opens the columns of `path`, or finds them open. Only who wants the same field waits.
    fn field(&self, snapshot: &Snapshot, segment: &SegmentView, path: &str) -> Result<SegmentField> {
        let place = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes_max = WORKED_OUT_BYTES_MIN.max(segment.docids.len() * WORKED_OUT_BYTES_PER_DOCUMENT);
            let spent = self.worked_out_bytes.load(Ordering::Relaxed) > bytes_max;
            if !open.contains_key(path) && (spent || open.len() >= FIELDS_OPEN_MAX) {
                open.clear();
                self.worked_out_bytes.store(0, Ordering::Relaxed);
            }
            Arc::clone(open.entry(path.to_owned()).or_default())
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = &*place {
            return Ok(field.clone());
        }
        let mut field = SegmentField::default();
        let docs = segment.reader.max_doc();
        // Column names are paths whose dots separate objects; ours are one key with dots in it.
        let escaped = path.replace('\\', "\\\\").replace('.', "\\.");
        let name = format!("{}.{escaped}", schema::names::COLUMNS);
        let bytes = &self.worked_out_bytes;
        for handle in segment.reader.fast_fields().dynamic_column_handles(&name)? {
            match handle.open()? {
                DynamicColumn::Str(column) => {
                    field.strings.push(Arc::new(StringColumn::new(column, docs, bytes)));
                }
                column => {
                    if let Some(DynamicColumn::F64(numbers)) = column.coerce_numerical(NumericalType::F64) {
                        field.numbers = Some(Arc::new(NumberColumn::new(numbers, docs, bytes)));
                    }
                }
            }
        }
        for column in deferred::columns(snapshot, segment, path)? {
            field.strings.push(Arc::new(StringColumn::new(column, docs, bytes)));
        }
        *place = Some(field.clone());
        Ok(field)
    }
}
