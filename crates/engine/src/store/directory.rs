//! The directory of an index: immutable files, and commits. The newest commit names the files that belong to the index.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roaring::RoaringBitmap;
use tantivy::directory::{FileSlice, OwnedBytes};

use super::commit_file;
use super::committed::Committed;
use super::disk::{Disk, Folder};
use super::index_file::IndexFile;
use super::layout::Layout;
use super::manifest::{Blob, Manifest, SegmentEntry};
use super::segment::SegmentView;
use super::segment_files::{SEGMENT_FILE_PREFIX, SegmentFile, SegmentFiles, Spill};
use super::snapshot::{Snapshot, SnapshotParts};
use crate::background_fault::FaultReporter;
use crate::error::{Context, Error, Result};
use crate::fields::FieldMap;
use crate::settings::Settings;

/// The open directory of one index.
pub struct IndexDirectory {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) layout: Layout,
    /// The number of the next commit.
    pub(super) next: AtomicU64,
    /// The files that the newest commit names, mapped.
    files: Mutex<HashMap<String, Arc<IndexFile>>>,
    /// Files of this format that the newest commit did not name when the directory was opened.
    pub(super) leftovers: Mutex<Vec<String>>,
}

impl IndexDirectory {
    /// Returns true if `path` holds a commit. The directory need not exist.
    ///
    /// # Errors
    /// Internal, naming the path, if the directory cannot be listed. Treating it as empty would start a new index and
    /// remove the files of the old one.
    pub fn exists(path: &Path) -> Result<bool> {
        let context = || format!("{} could not be listed", path.display());
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            entries => entries.context(context())?,
        };
        for entry in entries {
            let name = entry.context(context())?.file_name();
            if name.to_str().and_then(commit_file::number_of).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Creates a local directory, if necessary, and opens it without a commit. Files that cannot be removed are
    /// reported to `faults`.
    pub fn create(path: &Path, layout: Layout, faults: &FaultReporter) -> Result<Self> {
        let folder = Folder::create(path).context(format!("{} could not be created", path.display()))?;
        Ok(Self::open_disk(Arc::new(folder.reporting(faults)), layout)?.0)
    }

    /// Opens a local directory and its newest commit, if it has one. Files that cannot be removed are reported to
    /// `faults`.
    ///
    /// # Errors
    /// Internal, naming the path, if a file is damaged or of another version.
    pub fn open(path: &Path, layout: Layout, faults: &FaultReporter) -> Result<(Self, Option<Committed>)> {
        let folder = Folder::open(path).context(format!("{} could not be opened", path.display()))?;
        Self::open_disk(Arc::new(folder.reporting(faults)), layout)
    }

    /// As [`Self::open`], on any disk. Removes only the files of unfinished commits. The next commit removes other
    /// files that a crash left: if the newest commit turns out to be damaged, or to belong to another index, it does
    /// not show which files the documents of this index need.
    pub fn open_disk(disk: Arc<dyn Disk>, layout: Layout) -> Result<(Self, Option<Committed>)> {
        let names = names_in(&disk)?;
        for name in names.iter().filter(|name| commit_file::is_unfinished(name)) {
            disk.discard(name);
        }
        let (directory, committed) = Self::read_newest(disk, layout, &names, None)?;
        let files = committed.iter().flat_map(|committed| committed.files.iter());
        directory.note_leftovers(&names, &files.map(|file| file.name()).collect());
        Ok((directory, committed))
    }

    /// Opens a local directory that another process writes, as [`Self::open`] does, and changes nothing in it. Shares
    /// open files and segments with `previous`, an earlier commit, where both need them.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn follow(
        path: &Path,
        layout: Layout,
        faults: &FaultReporter,
        previous: Option<&Committed>,
    ) -> Result<(Self, Option<Committed>)> {
        let folder = Folder::open(path).context(format!("{} could not be opened", path.display()))?;
        let disk: Arc<dyn Disk> = Arc::new(folder.reporting(faults));
        let names = names_in(&disk)?;
        Self::read_newest(disk, layout, &names, previous)
    }

    /// Opens the directory with the newest commit among files of these names.
    fn read_newest(
        disk: Arc<dyn Disk>,
        layout: Layout,
        names: &[String],
        previous: Option<&Committed>,
    ) -> Result<(Self, Option<Committed>)> {
        let newest = names.iter().filter_map(|name| commit_file::number_of(name)).max();
        let next = AtomicU64::new(newest.map_or(1, |number| number + 1));
        let known = previous.iter().flat_map(|previous| previous.files.iter());
        let known = known.filter(|file| file.has_its_name());
        let files = Mutex::new(known.map(|file| (file.name().to_owned(), Arc::clone(file))).collect());
        let directory = Self { disk, layout, next, files, leftovers: Mutex::default() };
        let Some(newest) = newest else { return Ok((directory, None)) };
        let name = commit_file::name_of(newest);
        let file = directory.file(&name)?;
        let manifest = commit_file::read_manifest(&directory.path_of(&name), file.bytes())?;
        let mut needed = manifest.file_names();
        needed.insert(&name);
        directory.files().retain(|name, _| needed.contains(name.as_str()));
        let unread = needed.iter().copied().filter(|name| !directory.files().contains_key(*name));
        directory.disk.read_ahead(&unread.collect());
        let committed = directory.read(manifest, name, previous)?;
        Ok((directory, Some(committed)))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Returns the schema and settings of its segments.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns a disk for large files of segments being written. Writing to it fails once `stop` is set.
    pub fn spill(&self, stop: &Arc<AtomicBool>) -> Spill {
        Spill { disk: Arc::clone(&self.disk), stop: Arc::clone(stop) }
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    pub(super) fn files(&self) -> MutexGuard<'_, HashMap<String, Arc<IndexFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, name: &str) -> Result<Arc<IndexFile>> {
        if let Some(file) = self.files().get(name) {
            return Ok(Arc::clone(file));
        }
        let context = || format!("{} could not be read", self.path_of(name));
        let file = Arc::new(IndexFile::open(&self.disk, name).context(context())?);
        self.files().insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    /// Notes the files of this format that are not in `keep`, for the next commit to remove.
    fn note_leftovers(&self, names: &[String], keep: &BTreeSet<&str>) {
        let ours = |name: &str| name.starts_with(SEGMENT_FILE_PREFIX) || commit_file::is_commit_file(name);
        let left = names.iter().filter(|name| ours(name) && !keep.contains(name.as_str())).cloned();
        *self.leftovers.lock().unwrap_or_else(PoisonError::into_inner) = left.collect();
    }

    /// Returns the mapped bytes of a blob, and the file that contains them.
    fn blob(&self, blob: &Blob) -> Result<(FileSlice, Arc<IndexFile>)> {
        let file = self.file(&blob.file)?;
        let slice = commit_file::slice_of(blob, file.bytes());
        Ok((slice.context(format!("{} is damaged", self.path_of(&blob.file)))?, file))
    }

    fn blob_bytes(&self, blob: &Blob) -> Result<OwnedBytes> {
        let (slice, file) = self.blob(blob)?;
        let bytes = slice.read_bytes().context(format!("{} could not be read", self.path_of(file.name())))?;
        if crc32fast::hash(&bytes) != blob.checksum {
            return Err(Error::internal(format!("{} is damaged", self.path_of(file.name())), BAD_CHECKSUM));
        }
        Ok(bytes)
    }

    fn read(&self, manifest: Manifest, name: String, previous: Option<&Committed>) -> Result<Committed> {
        let settings = match &manifest.settings {
            Some(blob) => {
                let text = String::from_utf8(self.blob_bytes(blob)?.to_vec());
                Settings::parse(&text.context(format!("{} is damaged", self.path_of(&blob.file)))?)?
            }
            None => Settings::default(),
        };
        let fields = match &manifest.fields {
            Some(blob) => {
                let names: serde_json::Result<Vec<String>> = serde_json::from_slice(&self.blob_bytes(blob)?);
                FieldMap::from_names(names.context(format!("{} is damaged", self.path_of(&blob.file)))?)?
            }
            None => FieldMap::default(),
        };
        let parts = SnapshotParts {
            fields: Arc::new(fields),
            settings: Arc::new(settings),
            primary_key: manifest.record.primary_key.clone(),
            dictionaries: manifest.record.dictionaries.clone(),
            directory: Some(Arc::from(self.path())),
            faults: self.disk.faults().clone(),
        };
        let open = |entry: &SegmentEntry| match self.shared(entry, previous)? {
            Some(shared) => Ok(shared),
            None => self.open_segment(entry, None),
        };
        let segments = manifest.segments.iter().map(open);
        let snapshot = Snapshot::new(&self.layout, parts, segments.collect::<Result<_>>()?);
        self.committed(manifest, &name, snapshot)
    }

    pub(super) fn committed(&self, manifest: Manifest, name: &str, snapshot: Snapshot) -> Result<Committed> {
        let mut names = manifest.file_names();
        names.insert(name);
        let files = names.into_iter().map(|name| self.file(name)).collect::<Result<_>>()?;
        Ok(Committed { record: manifest.record.clone(), snapshot, manifest: Arc::new(manifest), files })
    }

    /// Returns a segment that `previous` has open, without documents deleted since. `None` if `previous` has no such
    /// segment.
    fn shared(&self, entry: &SegmentEntry, previous: Option<&Committed>) -> Result<Option<SegmentView>> {
        let known = previous.iter().flat_map(|previous| previous.snapshot.segments());
        let files = self.files().clone();
        let is_open =
            |file: &Arc<IndexFile>| files.get(file.name()).is_some_and(|open| Arc::ptr_eq(open, file));
        let mut known = known.filter(|segment| segment.core.is_of(entry, is_open));
        let Some(known) = known.next() else { return Ok(None) };
        if known.deleted_blob == entry.deleted {
            return Ok(Some(known.clone()));
        }
        let Some(blob) = &entry.deleted else { return Ok(None) };
        let deleted = self.deleted(entry, blob)?;
        let is_later = known.deleted.is_subset(&deleted);
        Ok(is_later.then(|| known.mask(deleted - &*known.deleted).with_deleted_blob(blob)))
    }

    /// Opens a segment from disk. `like` is the same segment, opened from memory.
    pub(super) fn open_segment(
        &self,
        entry: &SegmentEntry,
        like: Option<&SegmentView>,
    ) -> Result<SegmentView> {
        let (mut files, mut index_files) = (Vec::new(), BTreeMap::new());
        for (extension, blob) in &entry.files {
            if like.is_none() && blob.length <= CHECKED_BYTES_MAX {
                self.blob_bytes(blob)?;
            }
            let (bytes, file) = self.blob(blob)?;
            index_files.insert(blob.file.clone(), Arc::clone(&file));
            files.push((extension.clone(), SegmentFile { bytes, checksum: blob.checksum, own: None }));
        }
        let files = SegmentFiles::of(&entry.id, files);
        let index_files = index_files.into_values().collect();
        // tantivy may panic on bytes that it did not write.
        let open = || SegmentView::open(&self.layout, entry.clone(), files, index_files, like);
        let view = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(Error::internal("a segment could not be opened", "it does not decode")))
            .map_err(|error| self.blame(entry, error))?;
        let Some(blob) = &entry.deleted else { return Ok(view) };
        if like.is_some() {
            return Ok(view.with_deleted_blob(blob));
        }
        Ok(view.mask(self.deleted(entry, blob)?).with_deleted_blob(blob))
    }

    /// Reads the segment docids of the deleted documents of a segment.
    fn deleted(&self, entry: &SegmentEntry, blob: &Blob) -> Result<RoaringBitmap> {
        let deleted = RoaringBitmap::deserialize_from(self.blob_bytes(blob)?.as_slice())
            .context(format!("{} is damaged", self.path_of(&blob.file)))?;
        if deleted.max().is_some_and(|last| last >= entry.documents) {
            let reason = "it deletes a document that does not exist";
            return Err(Error::internal(format!("{} is damaged", self.path_of(&blob.file)), reason));
        }
        Ok(deleted)
    }

    /// Makes an error for a segment that cannot be opened. The error names its files.
    fn blame(&self, entry: &SegmentEntry, error: Error) -> Error {
        let files: BTreeSet<&str> = entry.files.values().map(|blob| blob.file.as_str()).collect();
        let files: Vec<String> = files.into_iter().map(|file| self.path_of(file)).collect();
        Error::internal(format!("{} could not be read", files.join(" or ")), error)
    }

    /// Returns the bytes of the directory, and of the stored documents in it.
    pub fn sizes(&self, committed: &Committed) -> Result<(u64, u64)> {
        let files = self.disk.list().context("the index directory cannot be listed")?;
        let all = files.iter().map(|(_, bytes)| bytes).sum();
        let stores = committed.manifest.segments.iter().filter_map(|segment| segment.files.get("store"));
        Ok((all, stores.map(|blob| blob.length).sum()))
    }
}

/// Names of all files of a directory.
fn names_in(disk: &Arc<dyn Disk>) -> Result<Vec<String>> {
    let files = disk.list().context(format!("{} could not be opened", disk.path().display()))?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// Segment files up to this many bytes are checked when an index is opened, which takes a millisecond or two; `verify`
/// checks all of them.
const CHECKED_BYTES_MAX: u64 = 1 << 20;

pub(super) const BAD_CHECKSUM: &str = "its checksum does not match its content";
