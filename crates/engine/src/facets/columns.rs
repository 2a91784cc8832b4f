use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use roaring::RoaringBitmap;
use tantivy::columnar::{Column, Dictionary, DynamicColumn, NumericalType};

use super::groups::{Numbers, Strings};
use crate::error::{Error, Result};
use crate::store::{SegmentView, Snapshot, schema};

/// Fields whose columns stay open per commit; beyond, all are opened anew.
const FIELDS_OPEN_MAX: usize = 256;

/// The values of all fields of one commit. Cheap to make: what is worked out stays with the commit.
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

/// The columns of one field, a place per segment of the commit.
#[derive(Default)]
pub(super) struct FieldColumns {
    pub segments: Vec<SegmentColumns>,
    pub strings: OnceLock<Arc<Strings>>,
    pub numbers: OnceLock<Arc<Numbers>>,
}

/// The columns of one field in one segment.
#[derive(Default)]
pub(super) struct SegmentColumns {
    pub numbers: Option<Column<f64>>,
    pub strings: Option<StringColumn>,
}

/// Ordinals by row, and their terms: normalised ‖ 0 ‖ original.
#[derive(Clone)]
pub(super) struct StringColumn {
    pub ords: Column<u64>,
    pub dictionary: Arc<Dictionary>,
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

    /// All values of one document at `path`, numbers first, each kind in the order written.
    pub fn values(&self, path: &str, docid: u32) -> Result<Vec<Value>> {
        let field = self.field(path)?;
        let mut values = Vec::new();
        for (segment, columns) in self.segments(&field) {
            let Some(doc) = segment.segment_docid(docid) else { continue };
            if let Some(numbers) = &columns.numbers {
                values.extend(numbers.values_for_doc(doc).map(Value::Number));
            }
            if let Some(strings) = &columns.strings {
                for ord in strings.ords.values_for_doc(doc) {
                    let (normalised, original) = strings.text(ord)?;
                    values.push(Value::String { normalised, original });
                }
            }
        }
        Ok(values)
    }

    pub(super) fn segments<'a>(
        &'a self,
        field: &'a FieldColumns,
    ) -> impl Iterator<Item = (&'a SegmentView, &'a SegmentColumns)> {
        self.snapshot.segments().iter().zip(&field.segments)
    }

    /// Opens the columns of `path`, or finds them open.
    pub(super) fn field(&self, path: &str) -> Result<Arc<FieldColumns>> {
        let mut open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = open.get(path) {
            return Ok(Arc::clone(field));
        }
        let segments = self.snapshot.segments().iter().map(|segment| SegmentColumns::open(segment, path));
        let field =
            Arc::new(FieldColumns { segments: segments.collect::<Result<_>>()?, ..Default::default() });
        if open.len() >= FIELDS_OPEN_MAX {
            open.clear();
        }
        open.insert(path.to_owned(), Arc::clone(&field));
        Ok(field)
    }

    /// Documents of `docids` that are still there. Columns keep deleted ones until a merge.
    pub(super) fn live(&self, docids: &RoaringBitmap) -> RoaringBitmap {
        docids & self.snapshot.documents()
    }
}

impl SegmentColumns {
    fn open(segment: &SegmentView, path: &str) -> Result<Self> {
        let mut columns = Self::default();
        // Column names are paths whose dots separate objects; ours are one key with dots in it.
        let escaped = path.replace('\\', "\\\\").replace('.', "\\.");
        let name = format!("{}.{escaped}", schema::names::COLUMNS);
        for handle in segment.reader.fast_fields().dynamic_column_handles(&name)? {
            match handle.open()? {
                DynamicColumn::Str(column) => {
                    let (dictionary, ords) = column.into_parts();
                    columns.strings = Some(StringColumn { ords, dictionary });
                }
                column => {
                    if let Some(DynamicColumn::F64(numbers)) = column.coerce_numerical(NumericalType::F64) {
                        columns.numbers = Some(numbers);
                    }
                }
            }
        }
        Ok(columns)
    }
}

impl StringColumn {
    /// Normalised and original form of an ordinal of this column.
    pub fn text(&self, ord: u64) -> Result<(String, String)> {
        let mut term = Vec::new();
        if !self.dictionary.ord_to_term(ord, &mut term)? {
            return Err(Error::internal("a column is damaged", format!("it has no ordinal {ord}")));
        }
        split(&term)
    }
}

/// Takes a column's term apart.
pub(super) fn split(term: &[u8]) -> Result<(String, String)> {
    let text = std::str::from_utf8(term).map_err(|error| Error::internal("a column is damaged", error))?;
    let (normalised, original) = text.split_once('\0').unwrap_or((text, text));
    Ok((normalised.to_owned(), original.to_owned()))
}

/// The part of a column's term that decides its group.
pub(super) fn group_key(term: &[u8]) -> &[u8] {
    term.split(|&byte| byte == 0).next().unwrap_or(term)
}
