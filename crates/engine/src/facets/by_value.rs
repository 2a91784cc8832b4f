//! Groups the documents of a segment by value.

use std::sync::Arc;

use tantivy::DocId;
use tantivy::columnar::{Cardinality, ColumnIndex};

use super::column_rows::{AllOrSome, each_block};
use crate::cache::cached;

cached! {
    pub(super) ValueCounts: () => Totals, |_, totals| totals.bytes();
    pub(super) DocumentsByValue: () => ByValue, |_, table| table.bytes();
}

/// Number of documents per value. Values are numbered from 0; deleted documents count too.
#[derive(Clone)]
pub(super) struct Totals {
    /// Value → number of documents of all values before it; the last entry counts the documents of all values.
    before: Arc<[u32]>,
}

impl Totals {
    /// Counts the documents of a column. `value_of` returns the values of rows, all below `len`.
    pub fn new(index: &ColumnIndex, docs: u32, len: usize, value_of: &ValueOf<'_>) -> Self {
        Self::of(len, |take| each_value(index, docs, len, value_of, take))
    }

    /// Counts the documents and values that `each` passes in two lists of equal length. Values are below `len`.
    pub fn of(len: usize, each: impl FnOnce(&mut dyn FnMut(&[DocId], &[u32]))) -> Self {
        let mut before = vec![0u32; len + 1];
        each(&mut |_, values| values.iter().for_each(|&value| before[value as usize + 1] += 1));
        for value in 0..len {
            before[value + 1] += before[value];
        }
        Self { before: before.into() }
    }

    /// Number of documents of a value.
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

/// Value → its documents, ascending and distinct.
pub(super) struct ByValue {
    totals: Totals,
    docs: Vec<DocId>,
}

impl ByValue {
    /// Reads a column with known totals. A second pass over the column costs less than keeping the rows of the first
    /// pass in memory.
    pub fn new(totals: &Totals, index: &ColumnIndex, docs: u32, value_of: &ValueOf<'_>) -> Self {
        Self::of(totals.clone(), |take| each_value(index, docs, totals.len(), value_of, take))
    }

    /// Groups the documents that `each` passes, in ascending order. `totals` must count the same documents.
    pub fn of(totals: Totals, each: impl FnOnce(&mut dyn FnMut(&[DocId], &[u32]))) -> Self {
        let mut next = totals.before.to_vec();
        let mut sorted = vec![0; totals.all()];
        each(&mut |docs, values| {
            for (&doc, &value) in docs.iter().zip(values) {
                let slot = &mut next[value as usize];
                sorted[*slot as usize] = doc;
                *slot += 1;
            }
        });
        Self { totals, docs: sorted }
    }

    /// Returns the documents of a value.
    pub fn docs(&self, value: usize) -> &[DocId] {
        &self.docs[self.totals.before[value] as usize..self.totals.before[value + 1] as usize]
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Memory in bytes. Includes the totals, which live as long as this.
    pub fn bytes(&self) -> usize {
        self.totals.bytes() + 4 * self.docs.len()
    }
}

/// Appends the values of rows.
pub(super) type ValueOf<'a> = dyn Fn(&[u32], &mut Vec<u32>) + 'a;

/// Calls `take` with the documents below `docs` and their values, without repeated values of a document.
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
