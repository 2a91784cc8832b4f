//! Here is a foreign key: which index does it lead to, and what of it may a request read?

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
    /// The index by the name that users know.
    pub foreign_index_uid: String,
    /// What the request may do there.
    pub access: Access,
}

/// What a request may do with the index that a foreign key leads to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Access {
    /// Documents may be read.
    Granted {
        /// The id of the index.
        index: String,
        /// Documents that do not pass are as if they did not exist; null: all may be read.
        filter: Json,
    },
    /// There is no such index.
    Missing,
    /// The request may not search the index.
    Refused {
        /// The message of the error for a filter that follows the key.
        message: String,
    },
}

impl ForeignKey {
    /// The error for a key that leads to no index.
    pub fn not_found(&self) -> Error {
        let message = format!("index `{}`, which a foreign key names, not found", self.foreign_index_uid);
        Error::user("index_not_found", message)
    }
}

/// Finds indexes by their ids.
pub trait Indexes {
    /// The newest commit of an index.
    ///
    /// # Errors
    /// `index_damaged`.
    fn newest(&self, id: &str) -> Result<Snapshot>;
}

/// For requests of a single index, which has no other beside it.
impl Indexes for () {
    fn newest(&self, id: &str) -> Result<Snapshot> {
        Err(Error::internal("a foreign key leads nowhere", format!("{id} is not open")))
    }
}

/// Other indexes as one request reads them: each at one commit.
pub struct ForeignIndexes<'a> {
    indexes: &'a dyn Indexes,
    snapshots: RefCell<HashMap<String, Snapshot>>,
    /// Documents that the filters of the request have selected so far, by index.
    selected: RefCell<HashMap<String, RoaringBitmap>>,
}

impl fmt::Debug for ForeignIndexes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignIndexes").finish_non_exhaustive()
    }
}

impl<'a> ForeignIndexes<'a> {
    /// No index is opened yet.
    pub fn new(indexes: &'a dyn Indexes) -> Self {
        Self { indexes, snapshots: RefCell::default(), selected: RefCell::default() }
    }

    /// An index, at the commit at which the request has read it before.
    pub fn snapshot(&self, index: &str) -> Result<Snapshot> {
        if let Some(snapshot) = self.snapshots.borrow().get(index) {
            return Ok(snapshot.clone());
        }
        let snapshot = self.indexes.newest(index)?;
        self.snapshots.borrow_mut().insert(index.to_owned(), snapshot.clone());
        Ok(snapshot)
    }

    /// Adds documents of an index to those that filters have selected; gives how many these are.
    pub(super) fn add_selected(&self, index: &str, documents: &RoaringBitmap) -> u64 {
        let mut selected = self.selected.borrow_mut();
        let together = selected.entry(index.to_owned()).or_default();
        *together |= documents;
        together.len()
    }
}
