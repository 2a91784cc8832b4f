//! Keeps one document per value of a field.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::column_rows::{AllOrSome, EachValue};
use super::columns::Columns;
use super::field_columns::FieldColumns;
use super::number_column::ordered;
use super::ranks::Ranks;
use super::searched_fields::FieldUse;
use super::segment_column::SegmentColumn;
use crate::error::Result;
use crate::store::{DELETED, SegmentView, ascending};

/// Documents whose values are read together if only a few are wanted.
const CHUNK: usize = 1024;

/// A document found by its value costs as much as reading the values of this many documents of the universe, because the
/// documents of several values come in no order.
const READ_PER_FOUND: u64 = 8;

/// Keeps one document per value of a field: the first, in the order in which documents are offered. A document with
/// several values is dropped if an earlier document has one of them. A document without values is kept.
pub struct Distinct {
    columns: Columns,
    field: Arc<FieldColumns>,
    strings: Arc<Ranks>,
    numbers: Arc<Ranks>,
    /// Ranks of minus zero and zero, which are the same value, if both occur.
    zeros: Option<(u32, u32)>,
    /// Key → true if a kept document has it. Keys are ranks of strings, followed by ranks of numbers.
    taken: Vec<bool>,
}

impl Columns {
    /// Returns a filter for distinct values at `path`.
    pub fn distinct(&self, path: &str) -> Result<Distinct> {
        self.note(FieldUse::Distinct, path);
        let field = self.field(path)?;
        let (strings, numbers) = (field.string_ranks()?, field.number_ranks()?);
        let zero = |zero: f64| {
            let (mut low, mut high) = (0, numbers.len as u32);
            while low < high {
                let middle = u32::midpoint(low, high);
                if ordered(field.number(&numbers, middle)) < ordered(zero) {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            let is_there =
                low < numbers.len as u32 && field.number(&numbers, low).to_bits() == zero.to_bits();
            is_there.then_some(low)
        };
        let zeros = zero(-0.0).zip(zero(0.0));
        let taken = vec![false; strings.len + numbers.len];
        Ok(Distinct { columns: self.clone(), field, strings, numbers, zeros, taken })
    }
}

impl Distinct {
    /// Offers `docs` in docid order. Returns the kept documents, and the documents of `universe` that share a value
    /// with a kept document, which may be in `docs`. Stops once `at_most` documents are kept.
    pub fn keep(
        &mut self,
        docs: &RoaringBitmap,
        universe: &RoaringBitmap,
        at_most: usize,
    ) -> Result<(RoaringBitmap, RoaringBitmap)> {
        let (kept, fresh) = self.take_values(docs, at_most)?;
        let excluded = self.documents_of(&fresh, universe)? - &kept;
        Ok((kept, excluded))
    }

    /// Offers `docs` in docid order. Returns the kept documents, like [`keep`](Self::keep).
    pub fn first_of_values(&mut self, docs: &RoaringBitmap) -> Result<RoaringBitmap> {
        Ok(self.take_values(docs, usize::MAX)?.0)
    }

    /// Returns the kept documents of `docs`, at most `at_most`, and the keys that no document had before.
    fn take_values(&mut self, docs: &RoaringBitmap, at_most: usize) -> Result<(RoaringBitmap, Vec<u32>)> {
        let (mut kept, mut fresh) = (Vec::new(), Vec::new());
        if (at_most as u64) < docs.len() {
            let mut rest = docs.iter();
            while kept.len() < at_most {
                let chunk: Vec<u32> = rest.by_ref().take(CHUNK).collect();
                if chunk.is_empty() {
                    break;
                }
                let keys = self.keys(&ascending_bitmap(&chunk))?;
                self.take_keys(&chunk, &keys, at_most, &mut kept, &mut fresh);
            }
        } else {
            let keys = self.keys(docs)?;
            self.take_keys(&ascending(docs), &keys, at_most, &mut kept, &mut fresh);
        }
        Ok((ascending_bitmap(&kept), fresh))
    }

    /// Offers ascending documents, whose `keys` are those of [`keys`](Self::keys), until `at_most` are kept.
    fn take_keys(
        &mut self,
        docs: &[u32],
        mut keys: &[(u32, u32)],
        at_most: usize,
        kept: &mut Vec<u32>,
        fresh: &mut Vec<u32>,
    ) {
        for &docid in docs {
            if kept.len() == at_most {
                break;
            }
            let (own, others) = keys.split_at(keys.iter().take_while(|(other, _)| *other == docid).count());
            keys = others;
            if own.iter().all(|(_, key)| !self.taken[*key as usize]) {
                kept.push(docid);
                for (_, key) in own {
                    if !std::mem::replace(&mut self.taken[*key as usize], true) {
                        fresh.push(*key);
                    }
                }
            }
        }
    }

    /// Returns the documents of `universe` with one of `keys`.
    fn documents_of(&self, keys: &[u32], universe: &RoaringBitmap) -> Result<RoaringBitmap> {
        let found_max = universe.len() / READ_PER_FOUND;
        if self.have_more(keys, found_max) {
            return self.having(keys, universe);
        }
        let mut found = Vec::new();
        let mut left = found_max as usize;
        for &key in keys {
            let docs = self.each_of(key, &mut |docid| found.push(docid))?;
            if docs > left {
                return self.having(keys, universe);
            }
            left -= docs;
        }
        Ok(found.into_iter().collect::<RoaringBitmap>() & universe)
    }

    /// Returns true if `keys` would have more than `documents` documents if all keys had equally many.
    fn have_more(&self, keys: &[u32], documents: u64) -> bool {
        let strings = self.field.strings.iter().map(|part| part.column.ords.values.num_vals());
        let numbers = self.field.numbers.iter().map(|part| part.column.column.values.num_vals());
        let rows: u64 = strings.chain(numbers).map(u64::from).sum();
        keys.len() as u64 * rows > documents * self.taken.len() as u64
    }

    /// Returns the documents of `universe` with one of `keys`, reading the values of each document.
    fn having(&self, keys: &[u32], universe: &RoaringBitmap) -> Result<RoaringBitmap> {
        let mut wanted = vec![false; self.taken.len()];
        keys.iter().for_each(|&key| wanted[key as usize] = true);
        let mut found = RoaringBitmap::new();
        for (part, SegmentColumn { segment, column }) in self.field.strings.iter().enumerate() {
            let view = self.columns.segment(*segment);
            let groups = column.groups()?;
            let is_wanted = |ord: u32| wanted[self.strings.rank(part, groups.of(ord)) as usize];
            found |= documents_with(view, &**column, column.len(), universe, is_wanted);
        }
        for (part, SegmentColumn { segment, column }) in self.field.numbers.iter().enumerate() {
            let view = self.columns.segment(*segment);
            let is_wanted = |value: u32| wanted[self.key_of_number(part, value) as usize];
            found |= documents_with(view, &**column, column.values().len(), universe, is_wanted);
        }
        Ok(found)
    }

    fn key_of_number(&self, part: usize, value: u32) -> u32 {
        let rank = self.numbers.rank(part, value);
        let rank = self.zeros.filter(|(minus, _)| *minus == rank).map_or(rank, |(_, zero)| zero);
        self.strings.len as u32 + rank
    }

    /// Calls `visit` with the live documents of a key. Returns the number of documents read, including deleted ones.
    fn each_of(&self, key: u32, visit: &mut dyn FnMut(u32)) -> Result<usize> {
        let mut seen = 0;
        let mut see = |segment: usize, docs: &[u32]| {
            let docids = &self.columns.segment(segment).docids;
            seen += docs.len();
            docs.iter()
                .map(|&doc| docids[doc as usize])
                .filter(|&docid| docid != DELETED)
                .for_each(&mut *visit);
        };
        if let Some(rank) = key.checked_sub(self.strings.len as u32) {
            let twin = self.zeros.filter(|(_, zero)| *zero == rank).map(|(minus, _)| minus);
            for rank in [Some(rank), twin].into_iter().flatten() {
                for (part, SegmentColumn { segment, column }) in self.field.numbers.iter().enumerate() {
                    if let Some(value) = self.numbers.value_in(part, rank) {
                        see(*segment, column.by_value().docs(value as usize));
                    }
                }
            }
        } else {
            for (part, SegmentColumn { segment, column }) in self.field.strings.iter().enumerate() {
                if let Some(group) = self.strings.value_in(part, key) {
                    for ord in column.groups()?.ords(group) {
                        see(*segment, column.by_ord().docs(ord as usize));
                    }
                }
            }
        }
        Ok(seen)
    }

    /// Returns docid and key of each value of `docs`, ascending.
    fn keys(&self, docs: &RoaringBitmap) -> Result<Vec<(u32, u32)>> {
        let mut keys = Vec::new();
        for (part, SegmentColumn { segment, column }) in self.field.strings.iter().enumerate() {
            let view = self.columns.segment(*segment);
            let groups = column.groups()?;
            column.each(AllOrSome::Some(&view.segment_docids(docs)), |doc, ord| {
                keys.push((view.docids[doc as usize], self.strings.rank(part, groups.of(ord))));
            });
        }
        for (part, SegmentColumn { segment, column }) in self.field.numbers.iter().enumerate() {
            let view = self.columns.segment(*segment);
            column.each(AllOrSome::Some(&view.segment_docids(docs)), |doc, value| {
                keys.push((view.docids[doc as usize], self.key_of_number(part, value)));
            });
        }
        // The keys of each segment are sorted already, which a stable sort makes use of.
        if !keys.is_sorted() {
            keys.sort();
        }
        Ok(keys)
    }
}

/// Returns the documents of `universe` with a wanted value in a column of a segment. The column has `values` values.
fn documents_with(
    segment: &SegmentView,
    column: &impl EachValue,
    values: usize,
    universe: &RoaringBitmap,
    is_wanted: impl Fn(u32) -> bool,
) -> RoaringBitmap {
    let docs = segment.segment_docids(universe);
    let mut found = segment.docid_set();
    // A table of all values costs less than asking for the value of each document.
    let table: Vec<bool> =
        if values < docs.len() { (0..values as u32).map(&is_wanted).collect() } else { Vec::new() };
    column.each(AllOrSome::Some(&docs), |doc, value| {
        if table.get(value as usize).copied().unwrap_or_else(|| is_wanted(value)) {
            found.add(segment.docids[doc as usize]);
        }
    });
    found.finish()
}

fn ascending_bitmap(docids: &[u32]) -> RoaringBitmap {
    RoaringBitmap::from_sorted_iter(docids.iter().copied()).expect("sorted, each once")
}
