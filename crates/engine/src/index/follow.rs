//! An index whose files another process writes: show the newest commit among them.

use std::path::Path;
use std::sync::Arc;

use super::limits::Limits;
use super::open_index::{Current, Index, IndexServices};
use crate::error::Result;
use crate::indexing;
use crate::store::{Committed, IndexDirectory};
use crate::vector::Vectors;

impl Index {
    /// Opens the index of a directory that another process fills, which need not exist yet. Nothing in it is changed as
    /// long as the index is only read.
    ///
    /// # Errors
    /// Those of [`Index::open_with`]; also if a log of vectors is shorter than the commit says.
    pub fn follow(path: &Path, limits: Limits, services: IndexServices) -> Result<Self> {
        let current = match IndexDirectory::exists(path)? {
            true => Some(Arc::new(newest(path, &services, None)?)),
            false => None,
        };
        Ok(Self::of(path, limits, services, current))
    }

    /// Shows readers the newest commit that lies in the directory. Readers of the commit before it go on; once this
    /// returns, they need no file that the newest one does not.
    ///
    /// # Errors
    /// Internal, naming the file, if it does not open; `index_damaged` if there is no commit. The commit before it stays.
    pub fn adopt(&self) -> Result<()> {
        let _only = self.writing();
        let before = self.current();
        let before = before.as_ref().and_then(|current| current.committed.as_ref());
        let Current { directory, committed: Some(committed) } = newest(&self.path, &self.services, before)?
        else {
            return Err(self.without_commit());
        };
        self.hold_vectors();
        Vectors::of(&committed.snapshot).tend();
        self.show(directory, committed);
        Ok(())
    }

    /// Keeps what readers of the newest commit may need of files that are removed.
    pub fn hold_vectors(&self) {
        if let Ok(snapshot) = self.snapshot() {
            // A read of vectors reports a log that is gone already; holding files is not the place for it.
            Vectors::of(&snapshot).hold().ok();
        }
    }
}

/// The newest commit in a directory, and what it shares with `before`.
fn newest(path: &Path, services: &IndexServices, before: Option<&Committed>) -> Result<Current> {
    let layout = indexing::layout().caching_in(&services.cache);
    let (directory, committed) = IndexDirectory::follow(path, layout, &services.faults, before)?;
    if let Some(committed) = &committed {
        let before = before.map(|before| Vectors::of(&before.snapshot));
        let logs = &committed.record.vectors;
        let vectors = Vectors::followed(path, logs, &services.faults, before.as_deref())?;
        committed.snapshot.attachments().put(Arc::new(vectors));
    }
    Ok(Current { directory: Arc::new(directory), committed })
}
