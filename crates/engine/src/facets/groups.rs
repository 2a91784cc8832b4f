//! Values numbered in order across the segments of a commit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::DocId;
use tantivy::columnar::Column;

use super::columns::{Columns, FieldColumns, StringColumn, group_key};
use crate::error::Result;

/// The string values of a field. A group is all spellings of one normalised value.
pub(super) struct Strings {
    /// A place per segment: ordinal → group. None where they are the same or there is no column.
    of_ord: Vec<Option<Vec<u32>>>,
    /// How many groups there are.
    pub len: usize,
    /// Group → segment and first ordinal; None if there is one segment whose ordinals are its groups.
    first: Option<Vec<(u32, u32)>>,
}

/// The number values of a field.
pub(super) struct Numbers {
    /// Distinct values, ascending.
    pub values: Vec<f64>,
    /// A place per segment: row → index into `values`.
    rows: Vec<Vec<u32>>,
}

impl Strings {
    fn build(field: &FieldColumns) -> Result<Self> {
        let mut streams = Vec::new();
        for (segment, columns) in field.segments.iter().enumerate() {
            if let Some(strings) = &columns.strings {
                streams.push((segment, strings.dictionary.stream()?));
            }
        }
        let mut of_ord: Vec<Option<Vec<u32>>> = field
            .segments
            .iter()
            .map(|columns| columns.strings.as_ref().map(|strings| vec![0; strings.dictionary.num_terms()]))
            .collect();
        let mut first = Vec::new();
        let mut heads = BinaryHeap::new();
        for (stream, (_, terms)) in streams.iter_mut().enumerate() {
            if terms.advance() {
                heads.push(Head { key: group_key(terms.key()).to_vec(), stream });
            }
        }
        let mut current: Vec<u8> = Vec::new();
        while let Some(Head { key, stream }) = heads.pop() {
            let (segment, terms) = &mut streams[stream];
            let ord = terms.term_ord();
            if first.is_empty() || key != current {
                first.push((*segment as u32, ord as u32));
                current.clone_from(&key);
            }
            if let Some(groups) = &mut of_ord[*segment] {
                groups[ord as usize] = first.len() as u32 - 1;
            }
            if terms.advance() {
                // The allocation of a key is used again for the next one of its stream.
                let mut key = key;
                key.clear();
                key.extend_from_slice(group_key(terms.key()));
                heads.push(Head { key, stream });
            }
        }
        let len = first.len();
        // Most fields have one spelling per value and most indexes one large segment.
        for groups in &mut of_ord {
            let same = |groups: &Vec<u32>| groups.iter().zip(0..).all(|(&group, ord)| group == ord);
            if groups.as_ref().is_some_and(same) {
                *groups = None;
            }
        }
        let plain = streams.len() == 1 && of_ord.iter().all(Option::is_none);
        Ok(Self { of_ord, len, first: if plain { None } else { Some(first) } })
    }

    /// The group of an ordinal of `segment`.
    pub fn group(&self, segment: usize, ord: u64) -> u32 {
        match &self.of_ord[segment] {
            Some(groups) => groups[ord as usize],
            None => ord as u32,
        }
    }

    /// Segment and ordinal of one spelling of `group`.
    pub fn spelling(&self, field: &FieldColumns, group: u32) -> (usize, u64) {
        match &self.first {
            Some(first) => {
                let (segment, ord) = first[group as usize];
                (segment as usize, u64::from(ord))
            }
            None => {
                let segment = field.segments.iter().position(|columns| columns.strings.is_some());
                (segment.unwrap_or_default(), u64::from(group))
            }
        }
    }

    /// Normalised and original form of one spelling of `group`.
    pub fn text(&self, field: &FieldColumns, group: u32) -> Result<(String, String)> {
        let (segment, ord) = self.spelling(field, group);
        let column: Option<&StringColumn> = field.segments[segment].strings.as_ref();
        column.map_or_else(|| Ok(Default::default()), |column| column.text(ord))
    }
}

/// The next key of a stream; the smallest is the greatest, as a heap gives the greatest first.
struct Head {
    key: Vec<u8>,
    stream: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then(other.stream.cmp(&self.stream))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl Numbers {
    fn build(field: &FieldColumns) -> Self {
        let rows_of = |column: &Column<f64>| column.values.iter().collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = field
            .segments
            .iter()
            .map(|columns| columns.numbers.as_ref().map(rows_of).unwrap_or_default())
            .collect();
        let mut values = rows.concat();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup_by(|a, b| a.to_bits() == b.to_bits());
        let index = |number: &f64| {
            values.binary_search_by(|value| value.total_cmp(number)).map_or(0, |index| index as u32)
        };
        let rows = rows.iter().map(|rows| rows.iter().map(index).collect()).collect();
        Self { values, rows }
    }

    /// Row → index into `values`, for a segment.
    pub fn rows(&self, segment: usize) -> &[u32] {
        &self.rows[segment]
    }
}

impl FieldColumns {
    /// Groups of the field's strings, worked out once per commit.
    pub fn strings(&self) -> Result<Arc<Strings>> {
        if let Some(strings) = self.strings.get() {
            return Ok(Arc::clone(strings));
        }
        let built = Arc::new(Strings::build(self)?);
        Ok(Arc::clone(self.strings.get_or_init(|| built)))
    }

    /// Distinct numbers of the field, worked out once per commit.
    pub fn numbers(&self) -> Arc<Numbers> {
        Arc::clone(self.numbers.get_or_init(|| Arc::new(Numbers::build(self))))
    }
}

/// Numbers the values of a field, so that two documents share a value if they share a key.
pub struct Keys {
    columns: Columns,
    field: Arc<FieldColumns>,
    strings: Arc<Strings>,
    numbers: Arc<Numbers>,
}

impl Columns {
    /// Keys of the values at `path`. Made for `distinct`, which then needs no set per value: a document
    /// is a repetition if one of its keys was seen on a document that was kept.
    pub fn keys(&self, path: &str) -> Result<Keys> {
        let field = self.field(path)?;
        let strings = field.strings()?;
        let numbers = field.numbers();
        Ok(Keys { columns: self.clone(), field, strings, numbers })
    }
}

impl Keys {
    /// All keys are below it.
    pub fn len(&self) -> usize {
        self.strings.len + self.numbers.values.len()
    }

    /// Whether no document has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with each key of a live document, some of them several times.
    pub fn each(&self, docid: u32, mut visit: impl FnMut(u32)) {
        for (position, (segment, columns)) in self.columns.segments(&self.field).enumerate() {
            let Some(doc) = segment.segment_docid(docid) else { continue };
            if let Some(strings) = &columns.strings {
                strings.ords.values_for_doc(doc).for_each(|ord| visit(self.strings.group(position, ord)));
            }
            if let Some(numbers) = &columns.numbers {
                let rows = self.numbers.rows(position);
                let first = self.strings.len as u32;
                numbers.index.value_row_ids(doc).for_each(|row| visit(first + rows[row as usize]));
            }
        }
    }
}

/// Documents handed to columns at a time: their rows fit a cache.
const BLOCK: usize = 1024;

/// Calls `visit` with document and row of every value of `docs`, ascending within a document.
pub(super) fn each_row<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Column<T>,
    docs: &[DocId],
    mut visit: impl FnMut(DocId, u32),
) {
    let (mut of_row, mut rows) = (Vec::new(), Vec::new());
    for block in docs.chunks(BLOCK) {
        of_row.clear();
        rows.clear();
        column.row_ids_for_docs(block, &mut of_row, &mut rows);
        for (&doc, &row) in of_row.iter().zip(&rows) {
            visit(doc, row);
        }
    }
}

/// Calls `visit` with document and ordinal of every string of `docs`.
pub(super) fn each_ord(column: &Column<u64>, docs: &[DocId], mut visit: impl FnMut(DocId, u64)) {
    let (mut of_row, mut rows, mut ords) = (Vec::new(), Vec::new(), Vec::new());
    for block in docs.chunks(BLOCK) {
        of_row.clear();
        rows.clear();
        column.row_ids_for_docs(block, &mut of_row, &mut rows);
        ords.resize(rows.len(), 0);
        column.values.get_vals(&rows, &mut ords);
        for (&doc, &ord) in of_row.iter().zip(&ords) {
            visit(doc, ord);
        }
    }
}
