//! A commit that is held for reading while later commits are made, for consistent copies of an instance.

use std::path::Path;
use std::sync::Arc;

use super::open_index::{Current, Index};
use crate::error::Result;
use crate::search;
use crate::store::{Committed, IndexDirectory};
use crate::vector::Vectors;

/// A commit of an index. Its files stay until it is dropped, even if later commits and compactions replace them. If the
/// index is deleted, its files are still mapped.
pub struct PinnedIndex {
    directory: Arc<IndexDirectory>,
    committed: Committed,
}

impl Index {
    /// Holds the newest commit.
    ///
    /// # Errors
    /// `index_damaged`, if there is no commit; internal, naming the file, if a vector log cannot be opened.
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
    /// Returns the settings as JSON; `None` if none were ever set.
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
