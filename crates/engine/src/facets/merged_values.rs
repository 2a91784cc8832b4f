//! The values of several columns in one order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

use roaring::RoaringBitmap;
use tantivy::columnar::Dictionary;

use crate::error::Result;

/// The values of the large columns in one order, each value once. Stays as long as those columns do.
pub(super) struct MergedValues {
    /// Dictionaries of the columns that were merged. Those that are gone leave their address taken.
    dictionaries: Vec<Weak<Dictionary>>,
    /// By column: its value → position in the order. None if they are the same.
    positions: Vec<Option<Vec<u32>>>,
    /// Position → a column that has the value, and its value there; None if the first column has all of them.
    owners: Option<Vec<(u32, u32)>>,
    /// Positions of values that are spelled in several ways.
    pub varied: RoaringBitmap,
    pub len: usize,
}

impl MergedValues {
    /// No values of no columns.
    pub fn empty() -> Self {
        Self {
            dictionaries: Vec::new(),
            positions: Vec::new(),
            owners: None,
            varied: RoaringBitmap::new(),
            len: 0,
        }
    }

    /// One column, whose values are in order already; `varied`: those that are spelled in several ways.
    pub fn of_one(len: usize, varied: RoaringBitmap) -> Self {
        Self { positions: vec![None], varied, len, ..Self::empty() }
    }

    /// Notes the dictionaries of the columns that were merged, for [`MergedValues::is_of`].
    pub fn of_dictionaries<'d>(self, dictionaries: impl Iterator<Item = &'d Arc<Dictionary>>) -> Self {
        Self { dictionaries: dictionaries.map(Arc::downgrade).collect(), ..self }
    }

    /// The position of a column's value.
    pub fn position(&self, column: usize, value: u32) -> u32 {
        self.positions[column].as_ref().map_or(value, |positions| positions[value as usize])
    }

    /// A column's value at a position; None if the column lacks it.
    pub fn value_at(&self, column: usize, position: u32) -> Option<u32> {
        match &self.positions[column] {
            Some(positions) => positions.binary_search(&position).ok().map(|value| value as u32),
            None => Some(position),
        }
    }

    /// A column that has the value at a position, and the value there.
    pub fn owner(&self, position: u32) -> (usize, u32) {
        match &self.owners {
            Some(owners) => (owners[position as usize].0 as usize, owners[position as usize].1),
            None => (0, position),
        }
    }

    /// Whether the columns of these dictionaries were merged, in this order.
    pub fn is_of<'d>(&self, dictionaries: impl ExactSizeIterator<Item = &'d Arc<Dictionary>>) -> bool {
        let same = |(known, dictionary): (&Weak<Dictionary>, &Arc<Dictionary>)| {
            std::ptr::eq(known.as_ptr(), Arc::as_ptr(dictionary))
        };
        self.dictionaries.len() == dictionaries.len() && self.dictionaries.iter().zip(dictionaries).all(same)
    }

    /// Merges sorted lists of distinct keys. `next` gives the next key of a list and whether it is one
    /// more spelling of the key before.
    pub fn merge<K: Ord + Clone>(
        lists: usize,
        mut next: impl FnMut(usize) -> Result<Option<(K, u64)>>,
    ) -> Result<Self> {
        let mut heads = BinaryHeap::new();
        for list in 0..lists {
            heads.extend(next(list)?.map(|(key, spelling)| Head { key, spelling, list }));
        }
        let mut merged = Self { positions: vec![Some(Vec::new()); lists], ..Self::empty() };
        let mut owners = Vec::new();
        let mut current: Option<(K, u64)> = None;
        while let Some(Head { key, spelling, list }) = heads.pop() {
            let positions = merged.positions[list].as_mut().expect("made above");
            let known = current.as_ref().filter(|(last, _)| *last == key);
            if let Some((_, first_spelling)) = known {
                if *first_spelling != spelling {
                    merged.varied.insert(owners.len() as u32 - 1);
                }
            } else {
                owners.push((list as u32, positions.len() as u32));
                current = Some((key.clone(), spelling));
            }
            let position = owners.len() as u32 - 1;
            // A spelling of a value that this list just gave is no value of its own.
            if positions.last() != Some(&position) {
                positions.push(position);
            }
            heads.extend(next(list)?.map(|(key, spelling)| Head { key, spelling, list }));
        }
        merged.len = owners.len();
        for positions in &mut merged.positions {
            if positions.as_ref().is_some_and(|positions| positions.len() == merged.len) {
                *positions = None;
            }
        }
        merged.owners = (lists > 1).then_some(owners);
        Ok(merged)
    }
}

/// The next key of a list; the smallest is the greatest, as a heap gives the greatest first.
struct Head<K> {
    key: K,
    /// Differs if the spelling does.
    spelling: u64,
    list: usize,
}

impl<K: Ord> Ord for Head<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then(other.list.cmp(&self.list))
    }
}

impl<K: Ord> PartialOrd for Head<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> PartialEq for Head<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord> Eq for Head<K> {}
