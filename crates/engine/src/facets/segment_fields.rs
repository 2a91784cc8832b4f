//! The open columns of a segment, kept from commit to commit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::columnar::{Column, Dictionary, DynamicColumn, NumericalType, StrColumn};

use super::deferred;
use crate::cache::Owner;
use crate::error::Result;
use crate::store::{SegmentView, Snapshot, schema};

/// Maximum number of fields with open columns per segment. Another field closes all of them.
const FIELDS_OPEN_MAX: usize = 256;

/// Open columns of a segment, by path.
#[derive(Default)]
pub(super) struct SegmentFields {
    open: Mutex<HashMap<String, Arc<Mutex<Option<SegmentField>>>>>,
}

/// The columns of a field in a segment.
#[derive(Clone, Default)]
pub(super) struct SegmentField {
    pub numbers: Option<Arc<OpenNumbers>>,
    pub strings: Vec<Arc<OpenStrings>>,
}

/// A column of numbers.
pub(super) struct OpenNumbers {
    pub column: Column<f64>,
    /// Number of documents in the segment.
    pub docs: u32,
    /// Owner of the column's cached tables. A reopened column has a new owner, because its values may be renumbered.
    pub cache: Owner,
}

/// A column of strings.
pub(super) struct OpenStrings {
    pub ords: Column<u64>,
    pub dictionary: Arc<Dictionary>,
    /// Number of documents in the segment.
    pub docs: u32,
    /// Owner of the column's cached tables. A reopened column has a new owner, because its values may be renumbered.
    pub cache: Owner,
}

impl SegmentFields {
    /// Returns the columns of `path`, opened if necessary. Only callers of the same field wait for each other.
    pub fn field(&self, snapshot: &Snapshot, segment: &SegmentView, path: &str) -> Result<SegmentField> {
        let slot = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if !open.contains_key(path) && open.len() >= FIELDS_OPEN_MAX {
                open.clear();
            }
            Arc::clone(open.entry(path.to_owned()).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = &*slot {
            return Ok(field.clone());
        }
        let mut field = SegmentField::default();
        let docs = segment.reader.max_doc();
        let owner = || segment.cache().cache().owner();
        let strings = |column: StrColumn| {
            let (dictionary, ords) = column.into_parts();
            Arc::new(OpenStrings { ords, dictionary, docs, cache: owner() })
        };
        // tantivy splits a column's name at dots; escaping keeps the path as a single key.
        let escaped = path.replace('\\', "\\\\").replace('.', "\\.");
        let name = format!("{}.{escaped}", schema::names::COLUMNS);
        for handle in segment.reader.fast_fields().dynamic_column_handles(&name)? {
            match handle.open()? {
                DynamicColumn::Str(column) => field.strings.push(strings(column)),
                column => {
                    if let Some(DynamicColumn::F64(column)) = column.coerce_numerical(NumericalType::F64) {
                        field.numbers = Some(Arc::new(OpenNumbers { column, docs, cache: owner() }));
                    }
                }
            }
        }
        field.strings.extend(deferred::columns(snapshot, segment, path)?.into_iter().map(strings));
        *slot = Some(field.clone());
        Ok(field)
    }
}
