//! Documents of a segment, side by side if they have the same value.

use std::sync::Arc;

use tantivy::DocId;
use tantivy::columnar::{Cardinality, ColumnIndex};

use super::column_rows::{AllOrSome, each_block};

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
