//! The files of a segment, as a directory for tantivy.
//!
//! A file stays in memory until it is too long, then it moves to a separate file on disk. Files still in memory are
//! written into the commit file, so that a small commit is one file.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crc32fast::Hasher;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, FileSlice, Lock, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use super::disk::{Disk, DiskFile};
use super::index_file::IndexFile;

/// Longer files move to disk.
const IN_MEMORY_BYTES_MAX: usize = 256 * 1024;

/// A disk for files too long for memory, and a flag that stops writing.
#[derive(Debug, Clone)]
pub struct Spill {
    /// The directory of the index.
    pub disk: Arc<dyn Disk>,
    /// Writing fails once this is set.
    pub stop: Arc<AtomicBool>,
}

/// A file of a segment.
#[derive(Debug, Clone)]
pub struct SegmentFile {
    /// Its content.
    pub bytes: FileSlice,
    /// CRC-32 of its content.
    pub checksum: u32,
    /// The file on disk, if it holds only this segment file; `None` if it is in memory or in a commit file.
    pub own: Option<Arc<IndexFile>>,
}

/// The files of a segment, as a tantivy directory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SegmentFiles {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    files: RwLock<BTreeMap<PathBuf, SegmentFile>>,
    /// Lists of segments that tantivy writes. Commits have their own list, so these never reach a disk.
    lists: Mutex<HashMap<PathBuf, Vec<u8>>>,
    /// `None` if all files stay in memory.
    spill: Option<Spill>,
}

impl SegmentFiles {
    /// Creates a segment without files.
    pub fn new(spill: Option<Spill>) -> Self {
        Self { inner: Arc::new(Inner { spill, ..Inner::default() }) }
    }

    /// Wraps the files of a segment on disk, given by extension.
    pub fn of(segment: &str, files: impl IntoIterator<Item = (String, SegmentFile)>) -> Self {
        let named = files
            .into_iter()
            .map(|(extension, file)| (PathBuf::from(format!("{segment}.{extension}")), file));
        Self { inner: Arc::new(Inner { files: RwLock::new(named.collect()), ..Inner::default() }) }
    }

    /// Returns all files by extension.
    pub fn list(&self) -> Vec<(String, SegmentFile)> {
        let files = self.inner.files.read().unwrap_or_else(PoisonError::into_inner);
        let named = files.iter().filter_map(|(path, file)| {
            let (_, extension) = path.to_str()?.split_once('.')?;
            Some((extension.to_owned(), file.clone()))
        });
        named.collect()
    }

    fn insert(&self, path: &Path, file: SegmentFile) {
        self.inner.files.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), file);
    }
}

impl Directory for SegmentFiles {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.open_read(path)?))
    }

    fn open_read(&self, path: &Path) -> Result<FileSlice, OpenReadError> {
        let files = self.inner.files.read().unwrap_or_else(PoisonError::into_inner);
        let file = files.get(path).ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))?;
        Ok(file.bytes.clone())
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let mut files = self.inner.files.write().unwrap_or_else(PoisonError::into_inner);
        files.remove(path).map(|_| ()).ok_or_else(|| DeleteError::FileDoesNotExist(path.to_owned()))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        let lists = self.inner.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.inner.files.read().unwrap_or_else(PoisonError::into_inner);
        Ok(lists.contains_key(path) || files.contains_key(path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let writer = SegmentFileWriter {
            of: self.clone(),
            path: path.to_owned(),
            hasher: Hasher::new(),
            memory: Vec::new(),
            file: None,
        };
        Ok(BufWriter::new(Box::new(writer)))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let lists = self.inner.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(path).cloned().ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let mut lists = self.inner.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(path.to_owned(), data.to_owned());
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    /// A segment has only one writer, so no lock is needed.
    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

struct SegmentFileWriter {
    of: SegmentFiles,
    path: PathBuf,
    hasher: Hasher,
    memory: Vec<u8>,
    file: Option<Spilled>,
}

/// A file that is being written to disk. It is removed if it is not completed.
struct Spilled {
    name: String,
    file: Box<dyn DiskFile>,
    disk: Arc<dyn Disk>,
    done: bool,
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if !self.done {
            self.disk.discard(&self.name);
        }
    }
}

/// Prefix of the names of segment files, which identifies files left by a crash.
pub const SEGMENT_FILE_PREFIX: &str = "segment-";

impl SegmentFileWriter {
    fn file(&mut self) -> io::Result<Option<&mut Spilled>> {
        let Some(spill) = &self.of.inner.spill else { return Ok(None) };
        if spill.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("it was abandoned"));
        }
        if self.file.is_none() && self.memory.len() > IN_MEMORY_BYTES_MAX {
            let name = format!("{SEGMENT_FILE_PREFIX}{}", self.path.display());
            let file = spill.disk.create(&name)?;
            let mut spilled = Spilled { name, file, disk: Arc::clone(&spill.disk), done: false };
            spilled.file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(spilled);
        }
        Ok(self.file.as_mut())
    }
}

impl Write for SegmentFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.file()? {
            Some(spilled) => spilled.file.write(bytes)?,
            None => {
                self.memory.extend_from_slice(bytes);
                bytes.len()
            }
        };
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |spilled| spilled.file.flush())
    }
}

impl TerminatingWrite for SegmentFileWriter {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        let (bytes, own) = match self.file.take() {
            None => (FileSlice::from(std::mem::take(&mut self.memory)), None),
            Some(mut spilled) => {
                spilled.file.sync()?;
                let own = IndexFile::open_uncommitted(&spilled.disk, &spilled.name)?;
                spilled.done = true;
                (own.bytes().clone(), Some(Arc::new(own)))
            }
        };
        let checksum = std::mem::take(&mut self.hasher).finalize();
        self.of.insert(&self.path, SegmentFile { bytes, checksum, own });
        Ok(())
    }
}
