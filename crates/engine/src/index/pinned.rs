//! A commit of an index that is held for reading while later commits go on, for copies of a whole instance at one point.

use std::path::Path;
use std::sync::Arc;

use super::open_index::{Current, Index};
use crate::error::Result;
use crate::search;
use crate::store::{Committed, IndexDirectory};
use crate::vector::Vectors;

/// One commit of an index. Its files stay until it is dropped, whatever later commits and compactions do; what it needs of
/// the files of a deleted index is mapped.
pub struct PinnedIndex {
    directory: Arc<IndexDirectory>,
    committed: Committed,
}

impl Index {
    /// Holds the newest commit.
    ///
    /// # Errors
    /// `index_damaged`, if there is none; internal, naming the file, if a log of vectors cannot be opened.
    pub fn pin(&self) -> Result<PinnedIndex> {
        let current = self.current();
        let Some(Current { directory, committed: Some(committed) }) = current.as_deref() else {
            return Err(self.without_commit());
        };
        Vectors::of(&committed.snapshot).hold()?;
        Ok(PinnedIndex { directory: Arc::clone(directory), committed: committed.clone() })
    }
}

impl PinnedIndex {
    /// The settings as JSON; `None` if none were ever set.
    pub fn settings(&self) -> Option<String> {
        let raw = &self.committed.snapshot.settings().raw;
        (!raw.is_empty()).then(|| raw.clone())
    }

    /// Lists documents: a `DocumentsRequest` given as JSON, whose foreign keys must lead to no index.
    ///
    /// # Errors
    /// See [`search::documents`].
    pub fn documents(&self, request: &[u8]) -> Result<Vec<u8>> {
        search::documents(&self.committed.snapshot, request, &())
    }

    /// Copies the commit to a directory, which must not exist.
    ///
    /// # Errors
    /// Internal, naming the file that cannot be read or written.
    pub fn copy_to(&self, target: &Path) -> Result<()> {
        self.directory.copy_to(&self.committed, target)?;
        Vectors::of(&self.committed.snapshot).copy_to(target)
    }
}
