//! Which document ids does a batch concern, and what becomes of each?
//!
//! ```text
//! rows  = (id, entry)*           in the order in which they came
//! table = hash of id → place     in rows
//! ```
//!
//! There may be millions, so both lie in a [`SpillAllocator`]. An id of up to 24 bytes lies in its row.

use std::hash::BuildHasher;
use std::ops::{Index, IndexMut};

use allocator_api2::vec::Vec;
use compact_str::CompactString;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::entry::Entry;
use super::spill_allocator::SpillAllocator;
use crate::error::{Error, Result};

/// Entries by document id. A place is valid until an entry is removed.
pub struct Entries {
    rows: Vec<(CompactString, Entry), SpillAllocator>,
    table: HashTable<u32, SpillAllocator>,
    hasher: RandomState,
}

impl Entries {
    /// None yet.
    pub fn new(spill: &SpillAllocator) -> Self {
        Self {
            rows: Vec::new_in(spill.clone()),
            table: HashTable::new_in(spill.clone()),
            hasher: RandomState::default(),
        }
    }

    /// Reserves memory for so many more.
    ///
    /// # Errors
    /// Internal, if there is none.
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        let (rows, hasher) = (&self.rows, &self.hasher);
        let hash = |place: &u32| hasher.hash_one(rows[*place as usize].0.as_str());
        self.table.try_reserve(more, hash).map_err(|error| no_disk_space(&error))?;
        self.rows.try_reserve(more).map_err(|error| no_disk_space(&error))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.table.clear();
    }

    /// The place of an id.
    pub fn place(&self, id: &str) -> Option<usize> {
        let is_it = |place: &u32| self.rows[*place as usize].0 == id;
        self.table.find(self.hasher.hash_one(id), is_it).map(|&place| place as usize)
    }

    /// What becomes of an id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.place(id).map(|place| &self[place])
    }

    /// Whether there is an entry.
    pub fn contains(&self, id: &str) -> bool {
        self.place(id).is_some()
    }

    /// The id at a place and what becomes of it.
    pub fn row(&self, place: usize) -> &(CompactString, Entry) {
        &self.rows[place]
    }

    /// Adds an id that has no entry yet; gives its place.
    ///
    /// # Errors
    /// Internal, if there is no room for it.
    pub fn add(&mut self, id: &str, entry: Entry) -> Result<usize> {
        debug_assert!(!self.contains(id), "{id} has an entry");
        self.reserve(1)?;
        let place = u32::try_from(self.rows.len()).map_err(|error| no_disk_space(&error))?;
        self.rows.push((id.into(), entry));
        let (rows, hasher) = (&self.rows, &self.hasher);
        let hash = |place: &u32| hasher.hash_one(rows[*place as usize].0.as_str());
        self.table.insert_unique(hasher.hash_one(id), place, hash);
        Ok(place as usize)
    }

    /// Removes the entry at a place; the last one takes it.
    pub fn remove(&mut self, place: usize) {
        let last = self.rows.len() - 1;
        let hash = |place: usize| self.hasher.hash_one(self.rows[place].0.as_str());
        let (removed, moved) = (hash(place), hash(last));
        if let Ok(found) = self.table.find_entry(removed, |&other| other as usize == place) {
            found.remove();
        }
        if let (true, Some(found)) =
            (place < last, self.table.find_mut(moved, |&other| other as usize == last))
        {
            *found = place as u32;
        }
        self.rows.swap_remove(place);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.rows.iter().map(|(id, entry)| (id.as_str(), entry))
    }

    /// What becomes of all of them, in order.
    pub fn values(&self) -> impl Iterator<Item = &Entry> {
        self.rows.iter().map(|(_, entry)| entry)
    }
}

impl Index<usize> for Entries {
    type Output = Entry;

    fn index(&self, place: usize) -> &Entry {
        &self.rows[place].1
    }
}

impl IndexMut<usize> for Entries {
    fn index_mut(&mut self, place: usize) -> &mut Entry {
        &mut self.rows[place].1
    }
}

/// A batch is too large for memory and disk.
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
        fn they_are_a_map(steps in proptest::collection::vec((any::<bool>(), 0..40u32), 0..200)) {
            let mut entries = Entries::new(&SpillAllocator::new(std::path::Path::new("."), 0));
            let mut model = BTreeMap::new();
            for (number, (is_removal, id)) in (0..).zip(steps) {
                let id = format!("document {id}, whose id is longer than what lies in a row");
                let place = entries.place(&id);
                match (is_removal, place) {
                    (true, Some(place)) => {
                        entries.remove(place);
                        model.remove(&id);
                    }
                    (false, None) => {
                        let entry = Entry { docid: Some(number), ..Entry::default() };
                        let place = entries.add(&id, entry).unwrap();
                        prop_assert_eq!(entries.row(place).0.as_str(), id.as_str());
                        model.insert(id, number);
                    }
                    _ => prop_assert_eq!(place.is_some(), model.contains_key(&id)),
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
