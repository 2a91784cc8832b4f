//! The columns of the fields of one segment, open from commit to commit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::columnar::{DynamicColumn, NumericalType};

use super::deferred;
use super::number_column::NumberColumn;
use super::string_column::StringColumn;
use crate::error::Result;
use crate::store::{SegmentView, Snapshot, schema};

/// Fields whose columns stay open per segment; one field more closes all of them.
const FIELDS_OPEN_MAX: usize = 256;

/// Tables built from the columns of a segment may take so many bytes per document, or this many in all, whichever is
/// more; when they take more than that, the next field closes all columns with their tables.
const TABLE_BYTES_PER_DOCUMENT: usize = 64;
const TABLE_BYTES_MIN: usize = 4 << 20;

/// Open columns of one segment, by path.
#[derive(Default)]
pub(super) struct SegmentFields {
    open: Mutex<HashMap<String, Arc<Mutex<Option<SegmentField>>>>>,
    table_bytes: Arc<AtomicUsize>,
}

/// The columns of one field in one segment.
#[derive(Clone, Default)]
pub(super) struct SegmentField {
    pub numbers: Option<Arc<NumberColumn>>,
    pub strings: Vec<Arc<StringColumn>>,
}

impl SegmentFields {
    /// The columns of `path`, from the cache or opened now. Only callers that ask for the same field wait for it.
    pub fn field(&self, snapshot: &Snapshot, segment: &SegmentView, path: &str) -> Result<SegmentField> {
        let slot = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes_max = TABLE_BYTES_MIN.max(segment.docids.len() * TABLE_BYTES_PER_DOCUMENT);
            let spent = self.table_bytes.load(Ordering::Relaxed) > bytes_max;
            if !open.contains_key(path) && (spent || open.len() >= FIELDS_OPEN_MAX) {
                open.clear();
                self.table_bytes.store(0, Ordering::Relaxed);
            }
            Arc::clone(open.entry(path.to_owned()).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = &*slot {
            return Ok(field.clone());
        }
        let mut field = SegmentField::default();
        let docs = segment.reader.max_doc();
        // tantivy reads dots in a column's name as steps into objects; here the whole path is one key.
        let escaped = path.replace('\\', "\\\\").replace('.', "\\.");
        let name = format!("{}.{escaped}", schema::names::COLUMNS);
        let bytes = &self.table_bytes;
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
        *slot = Some(field.clone());
        Ok(field)
    }
}
