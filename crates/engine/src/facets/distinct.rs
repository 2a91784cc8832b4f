//! Keeps one document per value of a field.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::column_rows::{AllOrSome, EachValue};
use super::columns::Columns;
use super::field_columns::FieldColumns;
use super::number_column::ordered;
use super::ranks::Ranks;
use super::segment_column::SegmentColumn;
use crate::error::Result;
use crate::store::DELETED;

/// Documents whose values are read together if only a few are wanted.
const CHUNK: usize = 1024;

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
        let mut kept = RoaringBitmap::new();
        let mut fresh = Vec::new();
        let mut rest = docs.clone();
        while !rest.is_empty() && (kept.len() as usize) < at_most {
            let chunk = match (at_most as u64) < rest.len() {
                true => rest.iter().take(CHUNK).collect(),
                false => rest.clone(),
            };
            rest.remove_smallest(chunk.len());
            let keys = self.keys(&chunk)?;
            let mut keys = keys.as_slice();
            for docid in chunk {
                if kept.len() as usize == at_most {
                    break;
                }
                let skipped = keys.partition_point(|(other, _)| *other < docid);
                keys = &keys[skipped..];
                let own = &keys[..keys.partition_point(|(other, _)| *other == docid)];
                if own.iter().all(|(_, key)| !self.taken[*key as usize]) {
                    kept.insert(docid);
                    for (_, key) in own {
                        if !std::mem::replace(&mut self.taken[*key as usize], true) {
                            fresh.push(*key);
                        }
                    }
                }
            }
        }
        let excluded = self.documents_of(&fresh, universe)? - &kept;
        Ok((kept, excluded))
    }

    /// Returns the documents of `universe` with one of `keys`.
    fn documents_of(&self, keys: &[u32], universe: &RoaringBitmap) -> Result<RoaringBitmap> {
        let mut found = Vec::new();
        let mut left = universe.len() as usize;
        for &key in keys {
            let docs = self.each_of(key, &mut |docid| found.push(docid))?;
            // The keys have more documents than the universe: reading the universe is cheaper.
            left = left.saturating_sub(docs);
            if left == 0 {
                let wanted: RoaringBitmap = keys.iter().copied().collect();
                let all = self.keys(universe)?;
                return Ok(all
                    .iter()
                    .filter(|(_, key)| wanted.contains(*key))
                    .map(|(docid, _)| *docid)
                    .collect());
            }
        }
        Ok(found.into_iter().collect::<RoaringBitmap>() & universe)
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
        let first = self.strings.len as u32;
        for (part, SegmentColumn { segment, column }) in self.field.numbers.iter().enumerate() {
            let view = self.columns.segment(*segment);
            column.each(AllOrSome::Some(&view.segment_docids(docs)), |doc, value| {
                let rank = self.numbers.rank(part, value);
                let rank = self.zeros.filter(|(minus, _)| *minus == rank).map_or(rank, |(_, zero)| zero);
                keys.push((view.docids[doc as usize], first + rank));
            });
        }
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        Ok(keys)
    }
}
