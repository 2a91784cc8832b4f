//! A file of an index. It is removed when neither a commit nor a reader needs it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::directory::FileSlice;

use super::disk::{Disk, FileIdentity};

/// A file that is removed with its last reader, unless a commit names it.
#[derive(Debug)]
pub struct IndexFile {
    disk: Arc<dyn Disk>,
    name: String,
    bytes: FileSlice,
    identity: Option<FileIdentity>,
    /// True if no commit names the file.
    obsolete: AtomicBool,
}

impl IndexFile {
    /// Maps a file that a commit names.
    pub fn open(disk: &Arc<dyn Disk>, name: &str) -> io::Result<Self> {
        let bytes = disk.open(name)?;
        let identity = disk.identity(name);
        let obsolete = AtomicBool::new(false);
        Ok(Self { disk: Arc::clone(disk), name: name.to_owned(), bytes, identity, obsolete })
    }

    /// Maps a file that no commit names yet. It is removed with its last reader, unless a commit names it first.
    pub fn open_uncommitted(disk: &Arc<dyn Disk>, name: &str) -> io::Result<Self> {
        let file = Self::open(disk, name)?;
        file.set_obsolete(true);
        Ok(file)
    }

    /// Returns its name in the directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if its name still leads to this file.
    pub fn has_its_name(&self) -> bool {
        self.disk.identity(&self.name) == self.identity
    }

    /// Returns its content.
    pub fn bytes(&self) -> &FileSlice {
        &self.bytes
    }

    /// Sets if the file is removed with its last reader.
    pub fn set_obsolete(&self, obsolete: bool) {
        self.obsolete.store(obsolete, Ordering::Relaxed);
    }
}

impl Drop for IndexFile {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Relaxed) {
            self.bytes = FileSlice::empty();
            self.disk.discard(&self.name);
        }
    }
}
