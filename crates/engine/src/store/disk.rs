//! The few things the store asks of a file system, so that a test can forget what was not synced.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::directory::{Directory as _, FileSlice, MmapDirectory};

/// A directory of files that are written once and never changed.
pub trait Disk: Debug + Send + Sync {
    /// Where it lies, for messages.
    fn path(&self) -> &Path;

    /// A new file.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// The bytes of a file, mapped.
    fn open(&self, name: &str) -> io::Result<FileSlice>;

    /// Takes the place of a file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Who has it open goes on reading.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes new, renamed and removed names survive a crash.
    fn sync_names(&self) -> io::Result<()>;

    /// Names and sizes in bytes of all files.
    fn list(&self) -> io::Result<Vec<(String, u64)>>;
}

/// A file being written.
pub trait DiskFile: Write + Send + Sync {
    /// Makes its content survive a crash.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory of this machine.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::metadata(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Creates a directory, unless it is there, so that it survives a crash.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        path.parent().map_or(Ok(()), sync_directory)?;
        Self::open(path)
    }
}

impl Disk for Folder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(File::create_new(self.path.join(name))?))
    }

    fn open(&self, name: &str) -> io::Result<FileSlice> {
        // A directory of its own each time: it would remember the name of every file it ever mapped.
        let maps = MmapDirectory::open(&self.path).map_err(io::Error::other)?;
        maps.open_read(Path::new(name)).map_err(io::Error::other)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }

    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A file may go while they are listed.
            let Ok(metadata) = entry.metadata() else { continue };
            if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
                files.push((name, metadata.len()));
            }
        }
        Ok(files)
    }
}

impl DiskFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Makes new and renamed names in a directory survive a crash. Elsewhere than on Unix, directories cannot be
/// opened and the file system sees to it.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// A name that no other file has.
pub fn unique_name() -> String {
    tantivy::index::SegmentId::generate_random().uuid_string()
}

/// A file that lives as long as anybody reads it or a commit names it.
#[derive(Debug)]
pub struct KeptFile {
    disk: Arc<dyn Disk>,
    name: String,
    bytes: FileSlice,
    /// No commit names it.
    obsolete: AtomicBool,
}

impl KeptFile {
    /// Maps a file that a commit names.
    pub fn open(disk: &Arc<dyn Disk>, name: &str) -> io::Result<Self> {
        let bytes = disk.open(name)?;
        Ok(Self { disk: Arc::clone(disk), name: name.to_owned(), bytes, obsolete: AtomicBool::new(false) })
    }

    /// Maps a file that no commit names yet: it goes if none ever does.
    pub fn open_uncommitted(disk: &Arc<dyn Disk>, name: &str) -> io::Result<Self> {
        let file = Self::open(disk, name)?;
        file.set_obsolete(true);
        Ok(file)
    }

    /// Its name in the directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its content.
    pub fn bytes(&self) -> &FileSlice {
        &self.bytes
    }

    /// Says whether it goes with its last reader.
    pub fn set_obsolete(&self, obsolete: bool) {
        self.obsolete.store(obsolete, Ordering::Relaxed);
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Relaxed) {
            // What cannot be removed now is removed when the index is opened again.
            self.bytes = FileSlice::empty();
            let _ = self.disk.remove(&self.name);
        }
    }
}
