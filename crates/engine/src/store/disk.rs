//! File system operations of the store, as a trait, so that tests can simulate crashes.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use tantivy::directory::{Directory as _, FileSlice, MmapDirectory};

use crate::background_fault::FaultReporter;

/// A directory of files that are written once and never changed.
pub trait Disk: Debug + Send + Sync {
    /// Path of the directory, for messages.
    fn path(&self) -> &Path;

    /// Creates a file.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// The bytes of a file, mapped.
    fn open(&self, name: &str) -> io::Result<FileSlice>;

    /// Returns an identity that changes when another file takes the name. `None` if the file does not exist, or on
    /// systems where a mapped file cannot lose its name.
    fn identity(&self, _name: &str) -> Option<FileIdentity> {
        None
    }

    /// Announces files to be opened next, so that their beginnings and ends are read in the background. Announcing all
    /// files at once takes hardly longer than announcing one.
    fn read_ahead(&self, _names: &BTreeSet<&str>) {}

    /// Renames a file; an existing file `to` is replaced.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Readers that have it open can still read it.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Receives the files that cannot be removed.
    fn faults(&self) -> &FaultReporter;

    /// Removes a file that no commit needs. Failures are reported; the first commit after the index is opened again
    /// retries.
    fn discard(&self, name: &str) {
        self.faults().removed(&self.path().join(name), self.remove(name));
    }

    /// Syncs new, renamed and removed names, so that they survive a crash.
    fn sync_names(&self) -> io::Result<()>;

    /// Names and sizes in bytes of all files.
    fn list(&self) -> io::Result<Vec<(String, u64)>>;
}

/// A file being written.
pub trait DiskFile: Write + Send + Sync {
    /// Syncs its content, so that it survives a crash.
    fn sync(&mut self) -> io::Result<()>;
}

/// Distinguishes a file from all others that exist at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// Returns the identity of a file; `None` on Windows, where a mapped file keeps its name.
    #[cfg(unix)]
    pub fn of(metadata: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        Some(Self { device: metadata.dev(), number: metadata.ino() })
    }

    /// Returns the identity of a file; `None` on Windows, where a mapped file keeps its name.
    #[cfg(not(unix))]
    pub fn of(_: &fs::Metadata) -> Option<Self> {
        None
    }
}

/// A local directory.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    faults: FaultReporter,
}

impl Folder {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::metadata(path)?;
        Ok(Self { path: path.to_owned(), faults: FaultReporter::default() })
    }

    /// Creates a directory, unless it exists, so that it survives a crash.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        path.parent().map_or(Ok(()), sync_directory)?;
        Self::open(path)
    }

    /// Reports files that cannot be removed to `faults`.
    pub fn reporting(self, faults: &FaultReporter) -> Self {
        Self { faults: faults.clone(), ..self }
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
        // Each call opens its own `MmapDirectory`, because one that is reused keeps the names of all files it ever
        // mapped.
        let maps = MmapDirectory::open(&self.path).map_err(io::Error::other)?;
        maps.open_read(Path::new(name)).map_err(io::Error::other)
    }

    fn identity(&self, name: &str) -> Option<FileIdentity> {
        FileIdentity::of(&fs::metadata(self.path.join(name)).ok()?)
    }

    fn read_ahead(&self, names: &BTreeSet<&str>) {
        for name in names {
            // A file that cannot be opened is reported when it is read.
            let Ok(file) = File::open(self.path.join(name)) else { continue };
            let bytes = file.metadata().map_or(0, |metadata| metadata.len());
            will_need(&file, 0..READ_AHEAD_BYTES);
            will_need(&file, bytes.saturating_sub(READ_AHEAD_BYTES)..bytes);
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn faults(&self) -> &FaultReporter {
        &self.faults
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }

    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A file may be removed while the directory is listed.
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

/// Bytes that [`Disk::read_ahead`] reads at either end of a file. They hold the offsets of its parts, and the docids of
/// a small segment.
const READ_AHEAD_BYTES: u64 = 128 * 1024;

/// Asks the system to read a part of a file in the background.
#[cfg(target_os = "linux")]
fn will_need(file: &File, part: Range<u64>) {
    use std::os::fd::AsRawFd as _;
    let offset = libc::off_t::try_from(part.start).unwrap_or(libc::off_t::MAX);
    let length = libc::off_t::try_from(part.end - part.start).unwrap_or(libc::off_t::MAX);
    // SAFETY: the descriptor is open as long as `file` lives. The call is a hint, so its outcome does not
    // matter.
    let _ = unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, length, libc::POSIX_FADV_WILLNEED) };
}

#[cfg(not(target_os = "linux"))]
fn will_need(_file: &File, _part: Range<u64>) {}

/// Syncs new and renamed names in a directory, so that they survive a crash. Only Unix can open directories; other file
/// systems persist names on their own.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Returns a random name, which no other file has.
pub fn unique_name() -> String {
    tantivy::index::SegmentId::generate_random().uuid_string()
}
