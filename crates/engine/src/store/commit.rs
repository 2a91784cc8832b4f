//! Makes a commit from the changes since the previous one. After a crash, the directory shows either the previous
//! commit or the new one.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use roaring::RoaringBitmap;

use super::commit_file::CommitWriter;
use super::committed::Committed;
use super::directory::IndexDirectory;
use super::index_file::IndexFile;
use super::manifest::{Blob, CommitRecord, Manifest, SegmentEntry};
use super::merge::{self, Effort};
use super::segment::SegmentView;
use super::segment_builder::NewSegment;
use super::snapshot::{Snapshot, SnapshotParts};
use crate::background_fault::BackgroundFaultKind;
use crate::error::{Context, Result};

/// Difference of a commit to the previous one.
#[derive(Default)]
pub struct Change {
    /// True if all documents are deleted before segments are added.
    pub cleared: bool,
    /// Docids of documents that are deleted before segments are added.
    pub deleted: RoaringBitmap,
    /// New segments, in ascending order of docids.
    pub added: Vec<NewSegment>,
}

impl IndexDirectory {
    /// Makes a commit from `previous` and `change`. A crash after the return does not undo it.
    ///
    /// # Errors
    /// Internal; the index stays at `previous`.
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
        if let Some(chosen) = merge::choose(&merge::weights(&segments), Effort::Small) {
            let inputs: Vec<&SegmentView> = chosen.iter().map(|&at| &segments[at]).collect();
            let merged = merge::merge(&self.layout, &inputs, None)?;
            merge::replace(&mut segments, &chosen, merged)?;
        }
        self.write(previous, segments, parts, record)
    }

    pub(super) fn write(
        &self,
        previous: Option<&Committed>,
        segments: Vec<SegmentView>,
        parts: SnapshotParts,
        record: CommitRecord,
    ) -> Result<Committed> {
        let context = || format!("{} could not be committed", self.path().display());
        let leftovers = std::mem::take(&mut *self.leftovers.lock().unwrap_or_else(PoisonError::into_inner));
        leftovers.iter().for_each(|name| self.disk.discard(name));
        let parts = SnapshotParts {
            directory: Some(Arc::from(self.path())),
            faults: self.disk.faults().clone(),
            ..parts
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut file = CommitWriter::create(&self.disk, number).context(context())?;
        let mut entries = Vec::with_capacity(segments.len());
        let mut own = Vec::new();
        for segment in &segments {
            entries.push(write_segment(&mut file, segment, &mut own).context(context())?);
        }
        let mut manifest = Manifest { record, settings: None, fields: None, segments: entries };
        let needed: BTreeSet<String> = manifest.file_names().into_iter().map(str::to_owned).collect();
        // An unchanged blob stays in its file, unless the commit needs nothing else of that file.
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
            // Without this sync, the commit could survive a crash while the names of its segment files do not.
            self.disk.sync_names().context(context())?;
        }
        let name = file.finish(&manifest).context(context())?;
        if let Err(error) = self.disk.sync_names() {
            self.take_back(&name, &own);
            return Err(error).context(context());
        }
        for file in &own {
            file.set_obsolete(false);
            self.files().insert(file.name().to_owned(), Arc::clone(file));
        }
        self.adopt(segments, parts, manifest, &name).inspect_err(|_| self.take_back(&name, &own))
    }

    /// Removes a complete commit that the caller reports as failed, so that a restart does not show it. `own` are the
    /// segment files that only this commit names.
    fn take_back(&self, name: &str, own: &[Arc<IndexFile>]) {
        self.files().retain(|known, _| known != name && own.iter().all(|file| file.name() != known));
        let gone = self.disk.remove(name).and_then(|()| self.disk.sync_names());
        // If the removal fails, a restart may show the commit, so its files have to stay. A merge changes no document.
        // `undo` takes back any other commit before the index is opened again.
        own.iter().for_each(|file| file.set_obsolete(gone.is_ok()));
        if let Err(reason) = gone {
            self.disk.faults().report(BackgroundFaultKind::FileRemoval, &self.path().join(name), reason);
        }
    }

    /// Opens the files just written. Marks files as obsolete that the new commit no longer names.
    fn adopt(
        &self,
        segments: Vec<SegmentView>,
        parts: SnapshotParts,
        manifest: Manifest,
        name: &str,
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
        let committed = self.committed(manifest, name, snapshot)?;
        let needed: BTreeSet<&str> = committed.files.iter().map(|file| file.name()).collect();
        self.files().retain(|name, file| {
            let keep = needed.contains(name.as_str());
            file.set_obsolete(!keep);
            keep
        });
        Ok(committed)
    }
}

/// Writes the parts of a segment that are not on disk yet. Adds segment files outside the commit file to `own`.
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
