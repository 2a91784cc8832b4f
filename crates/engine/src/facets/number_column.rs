use std::ops::Deref;
use std::sync::Arc;

use tantivy::DocId;
use tantivy::columnar::ColumnValues;

use super::by_value::{ByValue, DocumentsByValue, Totals, ValueCounts};
use super::column_rows::{AllOrSome, EachValue, each_block};
use super::segment_column::{SegmentColumn, build_in_parallel};
use super::segment_fields::OpenNumbers;
use super::table::Table;
use crate::cache::cached;

cached! {
    SortedNumbers: () => Ranked, |_, ranked| ranked.bytes();
}

/// The numbers of a field in a segment, with the tables that a search uses.
pub(super) struct NumberColumn {
    open: Arc<OpenNumbers>,
    ranked: Table<SortedNumbers>,
    totals: Table<ValueCounts>,
    by_value: Table<DocumentsByValue>,
}

impl Deref for NumberColumn {
    type Target = OpenNumbers;

    fn deref(&self) -> &OpenNumbers {
        &self.open
    }
}

/// Distinct values in ascending order, and row → index of its value.
struct Ranked {
    values: Vec<f64>,
    of_row: Vec<u32>,
}

impl NumberColumn {
    pub fn new(open: Arc<OpenNumbers>) -> Self {
        Self { open, ranked: Table::default(), totals: Table::default(), by_value: Table::default() }
    }

    /// Builds [`NumberColumn::values`] of several columns on several threads.
    pub fn rank_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.ranked.known(&column.cache).is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.ranked();
        });
    }

    /// Builds [`NumberColumn::totals`] of several columns on several threads.
    pub fn count_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.totals.known(&column.cache).is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.totals();
        });
    }

    /// Builds [`NumberColumn::by_value`] of several columns on several threads.
    pub fn sort_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.by_value.known(&column.cache).is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.by_value();
        });
    }

    fn ranked(&self) -> &Ranked {
        self.ranked.get(&self.cache, || Ranked::new(&*self.column.values))
    }

    /// Distinct values, ascending in the total order of floats.
    pub fn values(&self) -> &[f64] {
        &self.ranked().values
    }

    /// Index into [`NumberColumn::values`] → number of documents.
    pub fn totals(&self) -> &Totals {
        self.totals.get(&self.cache, || {
            let ranked = self.ranked();
            let value_of = |rows: &[u32], values: &mut Vec<u32>| ranked.of_rows(rows, values);
            Totals::new(&self.column.index, self.docs, ranked.values.len(), &value_of)
        })
    }

    /// Index into [`NumberColumn::values`] → documents.
    pub fn by_value(&self) -> &ByValue {
        self.by_value.get(&self.cache, || {
            let ranked = self.ranked();
            let value_of = |rows: &[u32], values: &mut Vec<u32>| ranked.of_rows(rows, values);
            ByValue::new(self.totals(), &self.column.index, self.docs, &value_of)
        })
    }
}

/// Values are indexes into [`NumberColumn::values`].
impl EachValue for NumberColumn {
    fn each(&self, docs: AllOrSome<'_>, mut visit: impl FnMut(DocId, u32)) {
        let of_row = &self.ranked().of_row;
        each_block(&self.column.index, docs, &mut |docs, rows| {
            for (&doc, &row) in docs.iter().zip(rows) {
                visit(doc, of_row[row as usize]);
            }
        });
    }
}

/// Integers whose range is smaller than this times their count are sorted by counting.
const RANGE_PER_ROW: f64 = 4.0;

/// Numbers read at a time: they fit into a processor cache. A second pass over the column costs less than keeping all
/// its numbers in memory.
const ROWS_AT_ONCE: usize = 1024;

/// Calls `take` with the numbers of all rows in order, [`ROWS_AT_ONCE`] at a time.
fn each_row(rows: &dyn ColumnValues<f64>, mut take: impl FnMut(&[f64])) {
    let mut read = [0.0; ROWS_AT_ONCE];
    for start in (0..rows.num_vals()).step_by(ROWS_AT_ONCE) {
        let read = &mut read[..ROWS_AT_ONCE.min((rows.num_vals() - start) as usize)];
        rows.get_range(u64::from(start), read);
        take(read);
    }
}

impl Ranked {
    /// Memory in bytes.
    fn bytes(&self) -> usize {
        8 * self.values.len() + 4 * self.of_row.len()
    }

    fn of_rows(&self, rows: &[u32], values: &mut Vec<u32>) {
        values.extend(rows.iter().map(|&row| self.of_row[row as usize]));
    }

    fn new(rows: &dyn ColumnValues<f64>) -> Self {
        Self::by_counting(rows).unwrap_or_else(|| Self::by_sorting(rows))
    }

    /// Counting sort. `None` unless all numbers are integers in a small range.
    fn by_counting(rows: &dyn ColumnValues<f64>) -> Option<Self> {
        // Minus zero and zero are distinct values here, but share a slot of the table, so minus zero counts as no
        // integer. Below 2^53, converting to an integer and back detects integers without a function call.
        let whole =
            |number: &f64| *number as i64 as f64 == *number && (*number != 0.0 || number.is_sign_positive());
        let (least, most) = (rows.min_value(), rows.max_value());
        let fits = most - least < f64::from(rows.num_vals()) * RANGE_PER_ROW
            && most.abs().max(least.abs()) < 2f64.powi(53);
        if !fits {
            return None;
        }
        let mut table = vec![0u32; (most - least) as usize + 1];
        let mut are_whole = true;
        each_row(rows, |read| {
            are_whole = are_whole && read.iter().all(whole);
            if are_whole {
                read.iter().for_each(|number| table[(number - least) as usize] = 1);
            }
        });
        if !are_whole {
            return None;
        }
        let mut values = Vec::new();
        for (offset, entry) in table.iter_mut().enumerate().filter(|(_, entry)| **entry == 1) {
            *entry = values.len() as u32;
            values.push(least + offset as f64);
        }
        let mut of_row = Vec::with_capacity(rows.num_vals() as usize);
        each_row(rows, |read| of_row.extend(read.iter().map(|number| table[(number - least) as usize])));
        Some(Self { values, of_row })
    }

    fn by_sorting(rows: &dyn ColumnValues<f64>) -> Self {
        let mut order: Vec<(f64, u32)> = Vec::with_capacity(rows.num_vals() as usize);
        each_row(rows, |read| order.extend(read.iter().copied().zip(order.len() as u32..)));
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut of_row = vec![0; order.len()];
        let mut values: Vec<f64> = Vec::new();
        for (number, row) in order {
            if values.last().is_none_or(|last| last.to_bits() != number.to_bits()) {
                values.push(number);
            }
            of_row[row as usize] = values.len() as u32 - 1;
        }
        Self { values, of_row }
    }
}

/// Maps a float to an integer. The integers have the total order of their floats.
pub(super) fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}
