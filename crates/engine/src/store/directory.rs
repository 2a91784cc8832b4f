//! One index on disk: files that never change, and the newest commit that says which of them count.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roaring::RoaringBitmap;
use tantivy::directory::{FileSlice, OwnedBytes};

use super::commit_file::{self, CommitWriter};
use super::disk::{Disk, Folder};
use super::index_file::IndexFile;
use super::layout::Layout;
use super::manifest::{Blob, CommitRecord, Manifest, SegmentEntry};
use super::merge::{self, Effort, Weight};
use super::segment::{NewSegment, SegmentView};
use super::segment_files::{SEGMENT_FILE_PREFIX, SegmentFile, SegmentFiles, Spill};
use super::snapshot::{Snapshot, SnapshotParts};
use crate::error::{Context, Error, Result};
use crate::fields::FieldMap;
use crate::settings::Settings;
use crate::threads;

/// The directory of one index, open.
pub struct IndexDirectory {
    disk: Arc<dyn Disk>,
    layout: Layout,
    /// The number the next commit gets.
    next: AtomicU64,
    /// Files the newest commit names, mapped.
    files: Mutex<HashMap<String, Arc<IndexFile>>>,
    /// Files of ours that the newest commit did not name when the directory was opened.
    leftovers: Mutex<Vec<String>>,
}

/// A commit: what it says, and what readers see of it. Cheap to clone.
#[derive(Clone)]
pub struct Committed {
    /// What it carries.
    pub record: CommitRecord,
    /// Its documents.
    pub snapshot: Snapshot,
    manifest: Arc<Manifest>,
    /// Everything it names, so that nothing of it goes while it is read.
    files: Arc<[Arc<IndexFile>]>,
}

/// How a commit differs from the one before.
#[derive(Default)]
pub struct Change {
    /// All documents are gone, before anything is added.
    pub cleared: bool,
    /// Docids of documents that are gone, before anything is added.
    pub deleted: RoaringBitmap,
    /// New segments, those with the lowest docids first.
    pub added: Vec<NewSegment>,
}

impl IndexDirectory {
    /// Whether there is a commit in `path`.
    pub fn exists(path: &Path) -> bool {
        let Ok(entries) = fs::read_dir(path) else { return false };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.into_iter().any(|name| commit_file::number_of(&name).is_some())
    }

    /// A directory of this machine without a commit, created if need be.
    pub fn create(path: &Path, layout: Layout) -> Result<Self> {
        let folder = Folder::create(path).context(format!("{} could not be created", path.display()))?;
        Ok(Self::open_disk(Arc::new(folder), layout)?.0)
    }

    /// Takes back the newest commits of a directory of this machine that is not open; see [`Self::undo_on`].
    ///
    /// # Errors
    /// Internal, naming the path.
    pub fn undo(path: &Path, batch_uids: &BTreeSet<u64>) -> Result<()> {
        let folder = Folder::open(path).context(format!("{} could not be opened", path.display()))?;
        Self::undo_on(&(Arc::new(folder) as Arc<dyn Disk>), batch_uids)
    }

    /// Takes back the newest commits as long as they are of these batches. What the commit before them needs is still
    /// there: only a later commit removes what the newest one does not need. Names are synced
    /// even if there is no such commit: its file may have been removed without that.
    ///
    /// # Errors
    /// Internal, naming the path, if the newest commit does not decode, or cannot be removed for good.
    pub fn undo_on(disk: &Arc<dyn Disk>, batch_uids: &BTreeSet<u64>) -> Result<()> {
        let context = |path: &Path| format!("{} could not be undone", path.display());
        let files = disk.list().context(context(disk.path()))?;
        let mut numbers: Vec<u64> =
            files.iter().filter_map(|(name, _)| commit_file::number_of(name)).collect();
        numbers.sort_unstable();
        for number in numbers.into_iter().rev() {
            let name = commit_file::name_of(number);
            let path = disk.path().join(&name);
            let file = disk.open(&name).context(context(&path))?;
            let manifest = commit_file::read_manifest(&path.display().to_string(), &file)?;
            let batch_uid = manifest.record.report["batchUid"].as_u64();
            if !batch_uid.is_some_and(|uid| batch_uids.contains(&uid)) {
                break;
            }
            disk.remove(&name).context(context(&path))?;
        }
        disk.sync_names().context(context(disk.path()))
    }

    /// Opens a directory of this machine; gives its newest commit too, if there is one.
    ///
    /// # Errors
    /// Internal, naming the path, if something is damaged or written by another version.
    pub fn open(path: &Path, layout: Layout) -> Result<(Self, Option<Committed>)> {
        let folder = Folder::open(path).context(format!("{} could not be opened", path.display()))?;
        Self::open_disk(Arc::new(folder), layout)
    }

    /// The same on any disk. Changes nothing but the files of unfinished commits: what else a crash left behind goes
    /// with the next commit, since a newest commit that turns out to be damaged, or that of another index, does not tell
    /// which files the documents of this index lie in.
    pub fn open_disk(disk: Arc<dyn Disk>, layout: Layout) -> Result<(Self, Option<Committed>)> {
        let context = || format!("{} could not be opened", disk.path().display());
        let names: Vec<String> = disk.list().context(context())?.into_iter().map(|(name, _)| name).collect();
        let newest = names.iter().filter_map(|name| commit_file::number_of(name)).max();
        let next = AtomicU64::new(newest.map_or(1, |number| number + 1));
        let (files, leftovers) = (Mutex::default(), Mutex::default());
        let directory = Self { disk, layout, next, files, leftovers };
        directory.remove(names.iter().filter(|name| commit_file::is_unfinished(name)));
        let Some(newest) = newest else {
            directory.leave(&names, &BTreeSet::new());
            return Ok((directory, None));
        };
        let name = commit_file::name_of(newest);
        let file = directory.file(&name)?;
        let manifest = commit_file::read_manifest(&directory.path_of(&name), file.bytes())?;
        let mut keep = manifest.file_names();
        keep.insert(&name);
        directory.leave(&names, &keep);
        directory.disk.read_ahead(&keep);
        let committed = directory.read(manifest, name)?;
        Ok((directory, Some(committed)))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// What its segments are made of.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where segments being written put what they need not hold in memory. Once `stop` is set, they fail.
    pub fn spill(&self, stop: &Arc<AtomicBool>) -> Spill {
        Spill { disk: Arc::clone(&self.disk), stop: Arc::clone(stop) }
    }

    fn path_of(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Arc<IndexFile>>> {
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

    /// Notes the files of ours that no commit needs.
    fn leave(&self, names: &[String], keep: &BTreeSet<&str>) {
        let ours = |name: &str| name.starts_with(SEGMENT_FILE_PREFIX) || commit_file::is_ours(name);
        let left = names.iter().filter(|name| ours(name) && !keep.contains(name.as_str())).cloned();
        *self.leftovers.lock().unwrap_or_else(PoisonError::into_inner) = left.collect();
    }

    /// Removes files. Those that cannot be removed are left for the next process.
    fn remove<'n>(&self, names: impl Iterator<Item = &'n String>) {
        for name in names {
            let _ = self.disk.remove(name);
        }
    }

    /// The bytes of a blob, mapped, and the file they lie in.
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

    fn read(&self, manifest: Manifest, name: String) -> Result<Committed> {
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
            directory: Some(Arc::from(self.path())),
        };
        let segments = manifest.segments.iter().map(|entry| self.open_segment(entry, None));
        let snapshot = Snapshot::new(&self.layout, parts, segments.collect::<Result<_>>()?);
        self.committed(manifest, &name, snapshot)
    }

    fn committed(&self, manifest: Manifest, name: &str, snapshot: Snapshot) -> Result<Committed> {
        let mut names = manifest.file_names();
        names.insert(name);
        let files = names.into_iter().map(|name| self.file(name)).collect::<Result<_>>()?;
        Ok(Committed { record: manifest.record.clone(), snapshot, manifest: Arc::new(manifest), files })
    }

    /// Opens a segment that was written. `like`: the same, before it was.
    fn open_segment(&self, entry: &SegmentEntry, like: Option<&SegmentView>) -> Result<SegmentView> {
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
        // tantivy may panic over bytes that are not what it wrote.
        let open = || SegmentView::open(&self.layout, entry.clone(), files, index_files, like);
        let view = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(Error::internal("a segment could not be opened", "it does not decode")))
            .map_err(|error| self.blame(entry, error))?;
        let Some(blob) = &entry.deleted else { return Ok(view) };
        if like.is_some() {
            return Ok(SegmentView { deleted_blob: Some(blob.clone()), ..view });
        }
        let deleted = RoaringBitmap::deserialize_from(self.blob_bytes(blob)?.as_slice())
            .context(format!("{} is damaged", self.path_of(&blob.file)))?;
        if deleted.max().is_some_and(|last| last >= entry.documents) {
            let reason = "a document is deleted that was never there";
            return Err(Error::internal(format!("{} is damaged", self.path_of(&blob.file)), reason));
        }
        Ok(SegmentView { deleted_blob: Some(blob.clone()), ..view.mask(&deleted) })
    }

    /// Names the files of a segment that does not open.
    fn blame(&self, entry: &SegmentEntry, error: Error) -> Error {
        let files: BTreeSet<&str> = entry.files.values().map(|blob| blob.file.as_str()).collect();
        let files: Vec<String> = files.into_iter().map(|file| self.path_of(file)).collect();
        Error::internal(format!("{} could not be read", files.join(" or ")), error)
    }

    /// Makes a commit of `previous` and `change`. Once it returns, a crash does not undo it.
    ///
    /// # Errors
    /// Internal; then the commit did not happen.
    pub fn commit(
        &self,
        previous: Option<&Committed>,
        change: Change,
        parts: SnapshotParts,
        record: CommitRecord,
    ) -> Result<Committed> {
        let mut segments: Vec<SegmentView> = match previous {
            Some(previous) if !change.cleared => {
                previous.snapshot.segments().iter().map(|segment| segment.without(&change.deleted)).collect()
            }
            _ => Vec::new(),
        };
        for added in change.added {
            segments.push(SegmentView::of(added)?);
        }
        segments.retain(|segment| !segment.live.is_empty());
        if let Some(chosen) = merge::choose(&weights(&segments), Effort::Small) {
            let inputs: Vec<&SegmentView> = chosen.iter().map(|&at| &segments[at]).collect();
            let merged = merge::merge(&self.layout, &inputs, None)?;
            replace(&mut segments, &chosen, merged)?;
        }
        self.write(previous, segments, parts, record)
    }

    /// Merges segments of `committed`, if there are too many. Gives what to hand to
    /// [`IndexDirectory::commit_merge`]; None if all is well.
    pub fn merge(&self, committed: &Committed, stop: &Arc<AtomicBool>) -> Result<Option<Merge>> {
        let segments = committed.snapshot.segments();
        let Some(chosen) = merge::choose(&weights(segments), Effort::Any) else { return Ok(None) };
        let inputs: Vec<SegmentView> = chosen.iter().map(|&at| segments[at].clone()).collect();
        let refs: Vec<&SegmentView> = inputs.iter().collect();
        // Only the commit that follows waits for it.
        let merged = threads::giving_way(|| merge::merge(&self.layout, &refs, Some(self.spill(stop))))
            .context(format!("{} could not be merged", self.path().display()))??;
        Ok(Some(Merge { inputs, merged }))
    }

    /// Makes a merge visible, as a commit of its own that changes no document. `newest` may be a later
    /// commit than the one merged; None if it no longer has those segments.
    pub fn commit_merge(&self, newest: &Committed, merge: Merge) -> Result<Option<Committed>> {
        let mut segments = newest.snapshot.segments().to_vec();
        let mut gone = RoaringBitmap::new();
        let mut replaced = Vec::new();
        for input in &merge.inputs {
            match segments.iter().position(|segment| segment.core.entry.id == input.core.entry.id) {
                Some(at) => {
                    gone |= &*input.live - &*segments[at].live;
                    replaced.push(at);
                }
                // All its documents were deleted meanwhile.
                None => gone |= &*input.live,
            }
        }
        if replaced.is_empty() {
            return Ok(None);
        }
        let at = replace(&mut segments, &replaced, merge.merged)?;
        if let Some(at) = at {
            segments[at] = segments[at].without(&gone);
        }
        segments.retain(|segment| !segment.live.is_empty());
        let parts = newest.snapshot.parts().clone();
        self.write(Some(newest), segments, parts, newest.record.clone()).map(Some)
    }

    fn write(
        &self,
        previous: Option<&Committed>,
        segments: Vec<SegmentView>,
        parts: SnapshotParts,
        record: CommitRecord,
    ) -> Result<Committed> {
        let context = || format!("{} could not be committed", self.path().display());
        let leftovers = std::mem::take(&mut *self.leftovers.lock().unwrap_or_else(PoisonError::into_inner));
        self.remove(leftovers.iter());
        let parts = SnapshotParts { directory: Some(Arc::from(self.path())), ..parts };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut file = CommitWriter::create(&self.disk, number).context(context())?;
        let mut entries = Vec::with_capacity(segments.len());
        let mut own = Vec::new();
        for segment in &segments {
            entries.push(write_segment(&mut file, segment, &mut own).context(context())?);
        }
        let mut manifest = Manifest { record, settings: None, fields: None, segments: entries };
        let needed: BTreeSet<String> = manifest.file_names().into_iter().map(str::to_owned).collect();
        // A blob that did not change stays where it is, unless it alone would keep its file.
        let unchanged = |blob: Option<&Blob>| blob.filter(|blob| needed.contains(&blob.file)).cloned();
        let before = previous.map(|previous| (previous.snapshot.parts(), &*previous.manifest));
        let same = before.filter(|(old, _)| old.settings.raw == parts.settings.raw);
        manifest.settings = match unchanged(same.and_then(|(_, manifest)| manifest.settings.as_ref())) {
            None if !parts.settings.raw.is_empty() => {
                Some(file.blob(parts.settings.raw.as_bytes()).context(context())?)
            }
            unchanged => unchanged,
        };
        let same = before.filter(|(old, _)| old.fields.len() == parts.fields.len());
        manifest.fields = match unchanged(same.and_then(|(_, manifest)| manifest.fields.as_ref())) {
            None if !parts.fields.is_empty() => {
                let names: Vec<&str> = parts.fields.names().collect();
                Some(file.blob(&serde_json::to_vec(&names).context(context())?).context(context())?)
            }
            unchanged => unchanged,
        };
        if !own.is_empty() {
            // Else the commit might survive a crash that its segments' names do not.
            self.disk.sync_names().context(context())?;
        }
        let name = file.finish(&manifest).context(context())?;
        if let Err(error) = self.disk.sync_names() {
            // It is told as failed, so it must not turn up later.
            let gone = self.disk.remove(&name).and_then(|()| self.disk.sync_names());
            if gone.is_err() {
                // It may turn up all the same, and has to be whole then: a merge changes no document, any other commit
                // is taken back before the index is opened again, see `undo`.
                own.iter().for_each(|file| file.set_obsolete(false));
            }
            return Err(error).context(context());
        }
        for file in own {
            file.set_obsolete(false);
            self.files().insert(file.name().to_owned(), file);
        }
        self.adopt(segments, parts, manifest, name)
    }

    /// Opens what was just written, and lets go of what it no longer names.
    fn adopt(
        &self,
        segments: Vec<SegmentView>,
        parts: SnapshotParts,
        manifest: Manifest,
        name: String,
    ) -> Result<Committed> {
        let open = |(segment, entry): (SegmentView, &SegmentEntry)| {
            if segment.core.entry.files.is_empty() {
                return self.open_segment(entry, Some(&segment));
            }
            Ok(SegmentView { deleted_blob: entry.deleted.clone(), ..segment })
        };
        let segments: Vec<SegmentView> =
            segments.into_iter().zip(&manifest.segments).map(open).collect::<Result<_>>()?;
        let snapshot = Snapshot::new(&self.layout, parts, segments);
        let committed = self.committed(manifest, &name, snapshot)?;
        let needed: BTreeSet<&str> = committed.files.iter().map(|file| file.name()).collect();
        self.files().retain(|name, file| {
            let keep = needed.contains(name.as_str());
            file.set_obsolete(!keep);
            keep
        });
        Ok(committed)
    }

    /// Copies a commit to `target`, which must not exist.
    pub fn copy_to(&self, committed: &Committed, target: &Path) -> Result<()> {
        fs::create_dir(target).context(format!("{} could not be created", target.display()))?;
        let target = Folder::open(target).context(format!("{} could not be opened", target.display()))?;
        for file in committed.files.iter() {
            let context = || format!("{} could not be copied", self.path_of(file.name()));
            let bytes = file.bytes().read_bytes().context(context())?;
            let mut copy = target.create(file.name()).context(context())?;
            copy.write_all(&bytes).and_then(|()| copy.sync()).context(context())?;
        }
        target.sync_names().context(format!("{} could not be synced", target.path().display()))
    }

    /// Files whose content is not what was written, and why.
    pub fn damages(&self, committed: &Committed) -> Vec<(String, String)> {
        let mut damages = BTreeMap::new();
        // Mapped anew: what is in memory may be older than what is on disk.
        let mut look = |blob: &Blob| {
            let intact = self.disk.open(&blob.file).and_then(|file| commit_file::is_intact(blob, &file));
            let reason = match intact {
                Ok(true) => return,
                Ok(false) => BAD_CHECKSUM.to_owned(),
                Err(error) => error.to_string(),
            };
            damages.entry(self.path_of(&blob.file)).or_insert(reason);
        };
        committed.manifest.blobs().for_each(&mut look);
        let mut unreadable = Vec::new();
        for file in committed.files.iter().filter(|file| commit_file::is_ours(file.name())) {
            let path = self.path_of(file.name());
            let manifest = self.disk.open(file.name()).map_err(Error::from);
            match manifest.and_then(|file| commit_file::read_manifest(&path, &file)) {
                // Other files in it that no commit names any more.
                Ok(manifest) => manifest.blobs().filter(|blob| blob.file == file.name()).for_each(&mut look),
                Err(error) => unreadable.push((path, error.to_string())),
            }
        }
        damages.extend(unreadable);
        damages.into_iter().collect()
    }

    /// Bytes of the directory, and of the stored documents in it.
    pub fn sizes(&self, committed: &Committed) -> Result<(u64, u64)> {
        let files = self.disk.list().context("the index directory cannot be listed")?;
        let all = files.iter().map(|(_, bytes)| bytes).sum();
        let stores = committed.manifest.segments.iter().filter_map(|segment| segment.files.get("store"));
        Ok((all, stores.map(|blob| blob.length).sum()))
    }
}

/// Smaller pieces are checked when an index is opened, in bytes: that takes a millisecond or two. Checking
/// everything is what `verify` is for.
const CHECKED_BYTES_MAX: u64 = 1 << 20;

const BAD_CHECKSUM: &str = "its checksum does not match its content";

/// Segments merged but not yet visible.
pub struct Merge {
    inputs: Vec<SegmentView>,
    merged: Option<NewSegment>,
}

fn weights(segments: &[SegmentView]) -> Vec<Weight> {
    let weigh = |segment: &SegmentView| {
        let files = segment.core.files.list();
        let bytes = files.iter().map(|(_, file)| tantivy::HasLen::len(&file.bytes) as u64).sum();
        Weight { live: segment.live.len(), documents: u64::from(segment.core.entry.documents), bytes }
    };
    segments.iter().map(weigh).collect()
}

/// Puts a merged segment at the first of `places`, and gives its place.
fn replace(
    segments: &mut Vec<SegmentView>,
    replaced: &[usize],
    merged: Option<NewSegment>,
) -> Result<Option<usize>> {
    let mut at = 0..;
    segments.retain(|_| !replaced.contains(&at.next().expect("it has no end")));
    let Some(merged) = merged else { return Ok(None) };
    let first = replaced.iter().copied().min().unwrap_or(0);
    segments.insert(first, SegmentView::of(merged)?);
    Ok(Some(first))
}

/// Writes what of a segment is not on disk yet. Files of its own are added to `own`.
fn write_segment(
    commit: &mut CommitWriter,
    segment: &SegmentView,
    own: &mut Vec<Arc<IndexFile>>,
) -> std::io::Result<SegmentEntry> {
    let mut entry = segment.core.entry.clone();
    if entry.files.is_empty() {
        for (extension, file) in segment.core.files.list() {
            let bytes = file.bytes.read_bytes()?;
            let blob = match file.own {
                Some(index_file) => {
                    let (name, length) = (index_file.name().to_owned(), bytes.len() as u64);
                    own.push(index_file);
                    Blob { file: name, offset: 0, length, checksum: file.checksum }
                }
                None => commit.blob(&bytes)?,
            };
            entry.files.insert(extension, blob);
        }
    }
    entry.deleted = match (&segment.deleted_blob, segment.deleted.is_empty()) {
        (_, true) => None,
        (Some(blob), false) => Some(blob.clone()),
        (None, false) => {
            let mut bytes = Vec::with_capacity(segment.deleted.serialized_size());
            segment.deleted.serialize_into(&mut bytes)?;
            Some(commit.blob(&bytes)?)
        }
    };
    Ok(entry)
}
