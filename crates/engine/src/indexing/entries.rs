//! The changes of a batch by document id.
//!
//! ```text
//! rows  = (id, entry)*           in the order of the first occurrences of ids
//! table = hash of id → row       index into rows
//! ```
//!
//! A batch may have millions of ids, so rows and table are in a [`SpillAllocator`]. Ids of up to 24 bytes are stored in
//! their row.

use std::hash::BuildHasher;
use std::ops::{Index, IndexMut};

use allocator_api2::vec::Vec;
use compact_str::CompactString;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::entry::Entry;
use super::spill_allocator::SpillAllocator;
use crate::error::{Error, Result};

/// Entries by document id. Row indexes are valid until an entry is removed.
pub struct Entries {
    rows: Vec<(CompactString, Entry), SpillAllocator>,
    table: HashTable<u32, SpillAllocator>,
    hasher: RandomState,
}

impl Entries {
    /// Creates an empty set of entries.
    pub fn new(spill: &SpillAllocator) -> Self {
        Self {
            rows: Vec::new_in(spill.clone()),
            table: HashTable::new_in(spill.clone()),
            hasher: RandomState::default(),
        }
    }

    /// Reserves memory for `more` entries.
    ///
    /// # Errors
    /// Internal, if neither memory nor disk has space for them.
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        let (rows, hasher) = (&self.rows, &self.hasher);
        let hash = |row: &u32| hasher.hash_one(rows[*row as usize].0.as_str());
        self.table.try_reserve(more, hash).map_err(|error| no_disk_space(&error))?;
        self.rows.try_reserve(more).map_err(|error| no_disk_space(&error))
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.table.clear();
    }

    /// Returns the row index of an id.
    pub fn find(&self, id: &str) -> Option<usize> {
        let is_it = |row: &u32| self.rows[*row as usize].0 == id;
        self.table.find(self.hasher.hash_one(id), is_it).map(|&row| row as usize)
    }

    /// Returns the entry of an id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.find(id).map(|row| &self[row])
    }

    /// Returns true if an id has an entry.
    pub fn contains(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    /// Returns the id and the entry of a row.
    pub fn row(&self, row: usize) -> &(CompactString, Entry) {
        &self.rows[row]
    }

    /// Adds an id that has no entry yet; returns its row index.
    ///
    /// # Errors
    /// Internal, if neither memory nor disk has space for it.
    pub fn add(&mut self, id: &str, entry: Entry) -> Result<usize> {
        debug_assert!(!self.contains(id), "{id} has an entry");
        self.reserve(1)?;
        let row = u32::try_from(self.rows.len()).map_err(|error| no_disk_space(&error))?;
        self.rows.push((id.into(), entry));
        let (rows, hasher) = (&self.rows, &self.hasher);
        let hash = |row: &u32| hasher.hash_one(rows[*row as usize].0.as_str());
        self.table.insert_unique(hasher.hash_one(id), row, hash);
        Ok(row as usize)
    }

    /// Removes a row. The last row moves to its index.
    pub fn remove(&mut self, row: usize) {
        let last = self.rows.len() - 1;
        let hash = |row: usize| self.hasher.hash_one(self.rows[row].0.as_str());
        let (removed, moved) = (hash(row), hash(last));
        if let Ok(found) = self.table.find_entry(removed, |&other| other as usize == row) {
            found.remove();
        }
        if let (true, Some(found)) = (row < last, self.table.find_mut(moved, |&other| other as usize == last))
        {
            *found = row as u32;
        }
        self.rows.swap_remove(row);
    }

    /// Returns ids and entries, in row order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.rows.iter().map(|(id, entry)| (id.as_str(), entry))
    }

    /// Returns the entries, in row order.
    pub fn values(&self) -> impl Iterator<Item = &Entry> {
        self.rows.iter().map(|(_, entry)| entry)
    }
}

impl Index<usize> for Entries {
    type Output = Entry;

    fn index(&self, row: usize) -> &Entry {
        &self.rows[row].1
    }
}

impl IndexMut<usize> for Entries {
    fn index_mut(&mut self, row: usize) -> &mut Entry {
        &mut self.rows[row].1
    }
}

/// Makes the error for a batch that is too large for memory and disk.
pub fn no_disk_space(reason: &dyn std::fmt::Debug) -> Error {
    Error::internal("there is no room for the documents of a batch", format!("{reason:?}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_behave_like_a_map(steps in proptest::collection::vec((any::<bool>(), 0..40u32), 0..200)) {
            let mut entries = Entries::new(&SpillAllocator::new(std::path::Path::new("."), 0));
            let mut model = BTreeMap::new();
            for (number, (is_removal, id)) in (0..).zip(steps) {
                let id = format!("document {id}, which has an id longer than a row stores");
                let row = entries.find(&id);
                match (is_removal, row) {
                    (true, Some(row)) => {
                        entries.remove(row);
                        model.remove(&id);
                    }
                    (false, None) => {
                        let entry = Entry { docid: Some(number), ..Entry::default() };
                        let row = entries.add(&id, entry).unwrap();
                        prop_assert_eq!(entries.row(row).0.as_str(), id.as_str());
                        model.insert(id, number);
                    }
                    _ => prop_assert_eq!(row.is_some(), model.contains_key(&id)),
                }
                prop_assert_eq!(entries.len(), model.len());
            }
            let seen: BTreeMap<String, u32> =
                entries.iter().map(|(id, entry)| (id.to_owned(), entry.docid.unwrap())).collect();
            prop_assert_eq!(&seen, &model);
            for (id, number) in &model {
                prop_assert_eq!(entries.get(id).and_then(|entry| entry.docid), Some(*number));
            }
        }
    }
}
