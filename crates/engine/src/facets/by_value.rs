//! Documents of a segment, side by side if they have the same value.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tantivy::DocId;
use tantivy::columnar::{Cardinality, Column, ColumnIndex};

/// How many documents each value has; values are numbers from 0 on. Deleted documents are among them.
#[derive(Clone)]
pub(super) struct Totals {
    /// Documents of the values before each, and one more for those of all.
    before: Arc<[u32]>,
}

impl Totals {
    /// Of a column: `value_of` says the values of rows, below `len`.
    pub fn new(index: &ColumnIndex, docs: u32, len: usize, value_of: &ValueOf<'_>) -> Self {
        Self::of(len, |take| each_value(index, docs, len, value_of, take))
    }

    /// `each` calls back with documents and their values below `len`, side by side.
    pub fn of(len: usize, each: impl FnOnce(&mut dyn FnMut(&[DocId], &[u32]))) -> Self {
        let mut before = vec![0u32; len + 1];
        each(&mut |_, values| values.iter().for_each(|&value| before[value as usize + 1] += 1));
        for value in 0..len {
            before[value + 1] += before[value];
        }
        Self { before: before.into() }
    }

    /// How many documents a value has.
    pub fn count(&self, value: usize) -> u32 {
        self.before[value + 1] - self.before[value]
    }

    fn all(&self) -> usize {
        self.before[self.len()] as usize
    }

    fn len(&self) -> usize {
        self.before.len() - 1
    }

    pub fn bytes(&self) -> usize {
        4 * self.before.len()
    }
}

/// The documents themselves: those of a value ascend, each once.
pub(super) struct ByValue {
    totals: Totals,
    docs: Vec<DocId>,
}

impl ByValue {
    /// Of a column whose values have been counted: reading it again costs less than memory for what was read.
    pub fn new(totals: &Totals, index: &ColumnIndex, docs: u32, value_of: &ValueOf<'_>) -> Self {
        Self::of(totals.clone(), |take| each_value(index, docs, totals.len(), value_of, take))
    }

    /// `each` calls back as it did when `totals` were counted, by ascending document.
    pub fn of(totals: Totals, each: impl FnOnce(&mut dyn FnMut(&[DocId], &[u32]))) -> Self {
        let mut next = totals.before.to_vec();
        let mut sorted = vec![0; totals.all()];
        each(&mut |docs, values| {
            for (&doc, &value) in docs.iter().zip(values) {
                let place = &mut next[value as usize];
                sorted[*place as usize] = doc;
                *place += 1;
            }
        });
        Self { totals, docs: sorted }
    }

    /// Documents of one value.
    pub fn docs(&self, value: usize) -> &[DocId] {
        &self.docs[self.totals.before[value] as usize..self.totals.before[value + 1] as usize]
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Beside those of the totals.
    pub fn bytes(&self) -> usize {
        4 * self.docs.len()
    }
}

/// Appends the values of rows.
pub(super) type ValueOf<'a> = dyn Fn(&[u32], &mut Vec<u32>) + 'a;

/// Calls `take` with the first `docs` documents and their values, a value of a document once.
fn each_value(
    index: &ColumnIndex,
    docs: u32,
    len: usize,
    value_of: &ValueOf<'_>,
    take: &mut dyn FnMut(&[DocId], &[u32]),
) {
    let repeats = index.get_cardinality() == Cardinality::Multivalued;
    let mut last = vec![u32::MAX; if repeats { len } else { 0 }];
    let (mut values, mut once) = (Vec::new(), (Vec::new(), Vec::new()));
    each_block(index, AllOrSome::All(docs), &mut |docs, rows| {
        values.clear();
        value_of(rows, &mut values);
        if !repeats {
            return take(docs, &values);
        }
        once.0.clear();
        once.1.clear();
        for (&doc, &value) in docs.iter().zip(&values) {
            if std::mem::replace(&mut last[value as usize], doc) != doc {
                once.0.push(doc);
                once.1.push(value);
            }
        }
        take(&once.0, &once.1);
    });
}

/// The same side by side by document, in the order they were written: quicker to read than a column of which
/// each document has to be looked up.
pub(super) struct ByDocument {
    /// Where the values of a document begin, and one more for the end of the last.
    starts: Vec<u32>,
    values: Vec<u32>,
}

/// A table is made once so many of a segment's documents are asked for, as one in this.
const TABLE_SHARE: usize = 8;

/// Segments of more documents have none: making it would keep one search waiting.
const TABLE_DOCS_MAX: u32 = 1 << 18;

impl ByDocument {
    /// Whether a table of a segment of `docs` documents is worth its while for those that are asked for.
    pub fn is_worth(docs: u32, asked: AllOrSome<'_>) -> bool {
        match asked {
            AllOrSome::All(_) => false,
            AllOrSome::Some(asked) => docs <= TABLE_DOCS_MAX && asked.len() * TABLE_SHARE >= docs as usize,
        }
    }

    /// `each` calls back with each document and value, by ascending document.
    pub fn new(docs: u32, each: impl FnOnce(&mut dyn FnMut(DocId, u32))) -> Self {
        let (mut starts, mut values) = (Vec::with_capacity(docs as usize + 1), Vec::new());
        each(&mut |doc, value| {
            starts.resize((doc as usize + 1).max(starts.len()), values.len() as u32);
            values.push(value);
        });
        starts.resize(docs as usize + 1, values.len() as u32);
        Self { starts, values }
    }

    /// Calls `visit` with document and value of every value of `docs`.
    pub fn each(&self, docs: &[DocId], mut visit: impl FnMut(DocId, u32)) {
        for &doc in docs {
            let place = self.starts[doc as usize] as usize..self.starts[doc as usize + 1] as usize;
            for &value in &self.values[place] {
                visit(doc, value);
            }
        }
    }

    pub fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.values.len())
    }
}

/// Adds what was worked out for a segment to its account.
pub(super) fn account(bytes: &Arc<AtomicUsize>, more: usize) {
    bytes.fetch_add(more, Ordering::Relaxed);
}

/// Documents whose rows are wanted.
#[derive(Clone, Copy)]
pub(super) enum AllOrSome<'a> {
    /// From 0 up to a number.
    All(u32),
    /// These, in any order.
    Some(&'a [DocId]),
}

/// Documents handed to columns at a time: their rows fit a cache.
pub(super) const BLOCK: usize = 1024;

/// Calls `take` with documents and rows, side by side, block by block. The rows of a document come together.
pub(super) fn each_block(index: &ColumnIndex, docs: AllOrSome<'_>, take: &mut dyn FnMut(&[DocId], &[u32])) {
    let (mut of_row, mut rows) = (Vec::new(), Vec::new());
    let mut block = |docs: &[DocId]| {
        if matches!(index, ColumnIndex::Full) {
            return take(docs, docs);
        }
        of_row.clear();
        rows.clear();
        index.docids_to_rowids(docs, &mut of_row, &mut rows);
        take(&of_row, &rows);
    };
    match docs {
        AllOrSome::Some(docs) => docs.chunks(BLOCK).for_each(block),
        AllOrSome::All(end) => {
            let mut docs: Vec<DocId> = Vec::with_capacity(BLOCK);
            for start in (0..end).step_by(BLOCK) {
                docs.clear();
                docs.extend(start..end.min(start + BLOCK as u32));
                block(&docs);
            }
        }
    }
}

/// A column whose values are numbers.
pub(super) trait EachValue {
    /// Calls `visit` with document and value, for every value of `docs`.
    fn each(&self, docs: AllOrSome<'_>, visit: impl FnMut(DocId, u32));
}

/// Calls `visit` with document and ordinal of every string of `docs`.
pub(super) fn each_ord(column: &Column<u64>, docs: AllOrSome<'_>, mut visit: impl FnMut(DocId, u32)) {
    let mut ords = Vec::new();
    each_block(&column.index, docs, &mut |docs, rows| {
        ords.resize(rows.len(), 0);
        column.values.get_vals(rows, &mut ords);
        for (&doc, &ord) in docs.iter().zip(&ords) {
            visit(doc, ord as u32);
        }
    });
}
