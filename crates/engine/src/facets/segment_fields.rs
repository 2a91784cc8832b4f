//! The columns of the fields of one segment. They stay with it from commit to commit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::columnar::{DynamicColumn, NumericalType};

use super::deferred;
use super::number_column::NumberColumn;
use super::string_column::StringColumn;
use crate::error::Result;
use crate::store::{SegmentView, Snapshot, schema};

/// Fields whose columns stay open per segment; beyond, all are opened anew.
const FIELDS_OPEN_MAX: usize = 256;

/// What is worked out about the fields of a segment may take so many bytes per document, or this many in
/// all; beyond, it is worked out anew.
const WORKED_OUT_BYTES_PER_DOCUMENT: usize = 64;
const WORKED_OUT_BYTES_MIN: usize = 4 << 20;

/// The columns of the fields of one segment. They stay with it from commit to commit.
#[derive(Default)]
pub(super) struct SegmentFields {
    open: Mutex<HashMap<String, Arc<Mutex<Option<SegmentField>>>>>,
    worked_out_bytes: Arc<AtomicUsize>,
}

/// The columns of one field in one segment.
#[derive(Clone, Default)]
pub(super) struct SegmentField {
    pub numbers: Option<Arc<NumberColumn>>,
    pub strings: Vec<Arc<StringColumn>>,
}

impl SegmentFields {
    /// Opens the columns of `path`, or finds them open. Only who wants the same field waits.
    pub fn field(&self, snapshot: &Snapshot, segment: &SegmentView, path: &str) -> Result<SegmentField> {
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
