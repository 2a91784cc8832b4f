//! Follows an index that another process writes: shows the newest commit in its directory.

use std::path::Path;
use std::sync::Arc;

use super::limits::Limits;
use super::open_index::{Current, Index, IndexServices};
use crate::error::Result;
use crate::store::{Committed, IndexDirectory};
use crate::vector::Vectors;

impl Index {
    /// Opens the index of a directory that another process writes. The directory need not exist yet. Reading the index
    /// changes nothing in it.
    ///
    /// # Errors
    /// See [`Index::open_with`]; also internal if a vector log is shorter than the commit specifies.
    pub fn follow(path: &Path, limits: Limits, services: IndexServices) -> Result<Self> {
        let current = match IndexDirectory::exists(path)? {
            true => Some(Arc::new(newest(path, &services, None)?)),
            false => None,
        };
        Ok(Self::of(path, limits, services, current))
    }

    /// Shows readers the newest commit in the directory. Readers of the previous commit may continue; after this
    /// returns, they need only files of the newest one.
    ///
    /// # Errors
    /// Internal, naming the file, if it does not open; `index_damaged` if there is no commit. The previous commit
    /// stays.
    pub fn adopt(&self) -> Result<()> {
        let _only = self.writing();
        let before = self.current();
        let before = before.as_ref().and_then(|current| current.committed.as_ref());
        let Current { directory, committed: Some(committed) } = newest(&self.path, &self.services, before)?
        else {
            return Err(self.without_commit());
        };
        self.hold_vectors();
        Vectors::of(&committed.snapshot).maintain_graphs();
        self.show(directory, committed);
        Ok(())
    }

    /// Maps the files that readers of the newest commit may need after their removal.
    pub fn hold_vectors(&self) {
        if let Ok(snapshot) = self.snapshot() {
            // Ignores a missing log here; reading its vectors reports it.
            Vectors::of(&snapshot).hold().ok();
        }
    }
}

/// Opens the newest commit in a directory. Shares files and segments with `before`.
fn newest(path: &Path, services: &IndexServices, before: Option<&Committed>) -> Result<Current> {
    let layout = services.layout();
    let (directory, committed) = IndexDirectory::follow(path, layout, &services.faults, before)?;
    if let Some(committed) = &committed {
        if before.is_none() {
            services.check_dictionaries(path, &committed.record.dictionaries);
        }
        let before = before.map(|before| Vectors::of(&before.snapshot));
        let logs = &committed.record.vectors;
        let vectors = Vectors::followed(path, logs, &services.faults, before.as_deref())?;
        committed.snapshot.attachments().put(Arc::new(vectors));
    }
    Ok(Current { directory: Arc::new(directory), committed })
}
