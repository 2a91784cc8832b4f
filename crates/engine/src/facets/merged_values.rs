//! Merges the values of several columns into one order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use roaring::RoaringBitmap;

use crate::cache::cached;
use crate::error::Result;
use crate::store::bitmap_bytes;

cached! {
    // Cached in the largest of the columns. The key holds the owner ids of all columns.
    pub(super) MergedStrings: Box<[u64]> => MergedValues, |columns, merged| 8 * columns.len() + merged.bytes();
}

/// The values of several columns in one order, without duplicates.
pub(super) struct MergedValues {
    /// By column: value → position in the order. `None` if each value is its own position.
    positions: Vec<Option<Vec<u32>>>,
    /// Position → a column with the value, and its number in that column. `None` if the first column has all values.
    owners: Option<Vec<(u32, u32)>>,
    /// Positions of values with several spellings.
    pub varied: RoaringBitmap,
    /// Number of values.
    pub len: usize,
}

impl MergedValues {
    /// No columns and no values.
    pub fn empty() -> Self {
        Self { positions: Vec::new(), owners: None, varied: RoaringBitmap::new(), len: 0 }
    }

    /// A single column, whose values are in order already. `varied`: values with several spellings.
    pub fn of_one(len: usize, varied: RoaringBitmap) -> Self {
        Self { positions: vec![None], varied, len, ..Self::empty() }
    }

    /// Returns the position of a column's value.
    pub fn position(&self, column: usize, value: u32) -> u32 {
        self.positions[column].as_ref().map_or(value, |positions| positions[value as usize])
    }

    /// Returns the column's value at a position; `None` if the column lacks it.
    pub fn value_at(&self, column: usize, position: u32) -> Option<u32> {
        match &self.positions[column] {
            Some(positions) => positions.binary_search(&position).ok().map(|value| value as u32),
            None => Some(position),
        }
    }

    /// Returns a column with the value at a position, and its number in that column.
    pub fn owner(&self, position: u32) -> (usize, u32) {
        match &self.owners {
            Some(owners) => (owners[position as usize].0 as usize, owners[position as usize].1),
            None => (0, position),
        }
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let positions = self.positions.iter().flatten().map(|positions| 4 * positions.len());
        positions.sum::<usize>()
            + size_of::<Option<Vec<u32>>>() * self.positions.len()
            + self.owners.as_ref().map_or(0, |owners| 8 * owners.len())
            + bitmap_bytes(&self.varied)
    }

    /// Merges sorted lists of keys. `next` returns the next key of a list and a hash of its spelling. A list repeats a
    /// key for each of its spellings.
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
            // Another spelling of the list's last value adds no value.
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

/// The next key of a list. The order is reversed because the heap returns the greatest first.
struct Head<K> {
    key: K,
    /// Hash of the spelling.
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
