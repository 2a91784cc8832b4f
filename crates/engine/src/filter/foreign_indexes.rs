//! Resolves foreign keys: the other index, and the documents there that a request may read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use roaring::RoaringBitmap;
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::store::Snapshot;

/// A field whose values are ids of documents of another index. Source: `ts/engine/requests.ts`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignKey {
    /// Dotted path of the field.
    pub field_name: String,
    /// Name of the index for users.
    pub foreign_index_uid: String,
    /// Rights of the request in the other index.
    pub access: Access,
}

/// Rights of a request in the index of a foreign key.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Access {
    /// Documents may be read.
    Granted {
        /// Id of the index.
        index: String,
        /// Documents that do not pass are treated as missing. Null: all may be read.
        filter: Json,
    },
    /// The index does not exist.
    Missing,
    /// The request may not search the index.
    Refused {
        /// Error message for a filter that uses the key.
        message: String,
    },
}

impl ForeignKey {
    /// Returns the error for a key whose index does not exist.
    pub fn not_found(&self) -> Error {
        let message = format!("index `{}`, which a foreign key names, not found", self.foreign_index_uid);
        Error::user("index_not_found", message)
    }
}

/// Finds indexes by id.
pub trait Indexes {
    /// Returns the newest commit of an index.
    ///
    /// # Errors
    /// `index_damaged`.
    fn newest(&self, id: &str) -> Result<Snapshot>;
}

/// For requests of a single index without access to others.
impl Indexes for () {
    fn newest(&self, id: &str) -> Result<Snapshot> {
        Err(Error::internal("a foreign key leads nowhere", format!("{id} is not open")))
    }
}

/// The other indexes of a request, each read at a single commit.
pub struct ForeignIndexes<'a> {
    indexes: &'a dyn Indexes,
    snapshots: RefCell<HashMap<String, Snapshot>>,
    /// Documents selected so far by the filters of the request, by index.
    selected: RefCell<HashMap<String, RoaringBitmap>>,
}

impl fmt::Debug for ForeignIndexes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignIndexes").finish_non_exhaustive()
    }
}

impl<'a> ForeignIndexes<'a> {
    /// Starts without open indexes.
    pub fn new(indexes: &'a dyn Indexes) -> Self {
        Self { indexes, snapshots: RefCell::default(), selected: RefCell::default() }
    }

    /// Returns an index at the commit that the request already uses.
    pub fn snapshot(&self, index: &str) -> Result<Snapshot> {
        if let Some(snapshot) = self.snapshots.borrow().get(index) {
            return Ok(snapshot.clone());
        }
        let snapshot = self.indexes.newest(index)?;
        self.snapshots.borrow_mut().insert(index.to_owned(), snapshot.clone());
        Ok(snapshot)
    }

    /// Adds documents of an index to those selected by filters. Returns the total.
    pub(super) fn add_selected(&self, index: &str, documents: &RoaringBitmap) -> u64 {
        let mut selected = self.selected.borrow_mut();
        let together = selected.entry(index.to_owned()).or_default();
        *together |= documents;
        together.len()
    }
}
