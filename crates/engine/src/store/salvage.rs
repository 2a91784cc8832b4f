//! Reads documents from the directory of an index that may be damaged.
//!
//! Reads commit files, document stores, docids and deletions, and changes nothing. Ignores parts with a wrong checksum,
//! except documents that still decode; these are reported as doubtful.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use roaring::RoaringBitmap;
use serde_json::value::RawValue;
use tantivy::columnar::ColumnarReader;
use tantivy::directory::{Directory as _, FileSlice};
use tantivy::schema::Value as _;
use tantivy::store::StoreReader;
use tantivy::{DocId, TantivyDocument, TantivyError};

use super::commit_file;
use super::disk::{Disk as _, Folder};
use super::docids::DELETED;
use super::layout::Layout;
use super::manifest::{Blob, CommitRecord, Manifest, SegmentEntry};
use super::schema::{self, Fields};
use super::segment_files::{SEGMENT_FILE_PREFIX, SegmentFile, SegmentFiles};
use crate::error::{Context, Error, Result};
use crate::settings::Settings;

/// The readable part of the newest commit of a directory.
pub struct Salvage {
    /// The record of the newest readable commit; `None` if no commit is readable.
    pub record: Option<CommitRecord>,
    /// Its settings; default settings if none were set or if they are not readable.
    pub settings: Settings,
    /// Descriptions of lost and doubtful parts, a line each.
    pub losses: Vec<String>,
    segments: Vec<SalvagedSegment>,
    fields: Fields,
}

/// The documents of one segment.
struct SalvagedSegment {
    path: String,
    store: StoreReader,
    /// True if the store matches its checksum.
    is_intact: bool,
    /// By segment docid; `None` if they are not readable.
    docids: Option<Vec<u32>>,
    documents: u32,
    deleted: RoaringBitmap,
}

/// A document of a salvaged segment. Sorts by docid, then from the oldest segment to the newest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DocAddress {
    /// `DELETED` if unknown.
    docid: u32,
    segment: usize,
    doc: DocId,
}

impl Salvage {
    /// Reads a directory, except the documents themselves.
    ///
    /// # Errors
    /// Internal, if the directory cannot be listed.
    pub fn read(path: &Path) -> Result<Self> {
        let folder = Folder::open(path).context(format!("{} could not be opened", path.display()))?;
        let names = folder.list().context(format!("{} could not be listed", path.display()))?;
        let names: BTreeSet<String> = names.into_iter().map(|(name, _)| name).collect();
        let mut reader = Reader { folder, path: path.to_owned(), losses: Vec::new() };
        let (_, fields) = schema::build();
        let (manifest, is_newest) = reader.manifest(&names);
        let mut segments = Vec::new();
        if !is_newest {
            segments.extend(reader.unnamed_segments(&names, manifest.as_ref()));
        }
        let Some(manifest) = manifest else {
            let settings = Settings::default();
            return Ok(Self { record: None, settings, losses: reader.losses, segments, fields });
        };
        let settings = reader.settings(&manifest);
        segments.extend(manifest.segments.iter().filter_map(|entry| reader.segment(entry)));
        Ok(Self { record: Some(manifest.record), settings, losses: reader.losses, segments, fields })
    }

    /// Calls `take` with the JSON text of each readable document, ascending by docid; documents without a known docid
    /// come last. Adds unreadable documents to the losses.
    ///
    /// # Errors
    /// Errors of `take`.
    pub fn each(&mut self, mut take: impl FnMut(Option<u32>, &str) -> Result<()>) -> Result<()> {
        let addresses = self.addresses();
        let mut unread = vec![0u32; self.segments.len()];
        for DocAddress { docid, segment, doc } in addresses {
            match self.segments[segment].text(doc, self.fields) {
                Ok(text) => take((docid != DELETED).then_some(docid), &text)?,
                Err(_) => unread[segment] += 1,
            }
        }
        for (segment, unread) in self.segments.iter().zip(unread) {
            let documents = segment.documents - segment.deleted.len() as u32;
            if unread > 0 || !segment.is_intact {
                let altered = if segment.is_intact { "" } else { "; the others may be altered" };
                let path = &segment.path;
                self.losses
                    .push(format!("{path}: {unread} of {documents} documents are unreadable{altered}"));
            }
        }
        Ok(())
    }

    /// Returns the addresses of all documents that are not deleted, in reading order.
    fn addresses(&self) -> Vec<DocAddress> {
        let mut addresses = Vec::new();
        for (at, segment) in self.segments.iter().enumerate() {
            let live = (0..segment.documents).filter(|&doc| !segment.deleted.contains(doc));
            addresses.extend(live.map(|doc| {
                let docid = segment.docids.as_ref().map_or(DELETED, |docids| docids[doc as usize]);
                DocAddress { docid, segment: at, doc }
            }));
        }
        addresses.sort_unstable();
        // If deletions are lost, an older version of a document has the same docid as the newer one.
        let is_replaced = |pair: &[DocAddress]| pair[0].docid == pair[1].docid && pair[0].docid != DELETED;
        let replaced: Vec<bool> = addresses
            .windows(2)
            .map(is_replaced)
            .chain(std::iter::once(false))
            .take(addresses.len())
            .collect();
        addresses
            .into_iter()
            .zip(replaced)
            .filter(|(_, replaced)| !replaced)
            .map(|(address, _)| address)
            .collect()
    }
}

impl SalvagedSegment {
    fn text(&self, doc: DocId, fields: Fields) -> Result<String> {
        let document = without_panic(|| self.store.get::<TantivyDocument>(doc).map_err(Error::from))?;
        let source = document.get_first(fields.source).and_then(|value| value.as_bytes().map(<[u8]>::to_vec));
        let source =
            source.ok_or_else(|| Error::internal("a stored document is damaged", "it has no source"))?;
        let text = String::from_utf8(source).context("a stored document is no text")?;
        serde_json::from_str::<BTreeMap<String, &RawValue>>(&text)
            .context("a stored document is no object")?;
        Ok(text)
    }
}

/// Reads the parts of a directory, and notes losses.
struct Reader {
    folder: Folder,
    path: PathBuf,
    losses: Vec<String>,
}

impl Reader {
    fn path_of(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn lose(&mut self, name: &str, loss: &str) {
        self.losses.push(format!("{}: {loss}", self.path_of(name)));
    }

    /// Returns the newest readable manifest, and true if it belongs to the newest commit.
    fn manifest(&mut self, names: &BTreeSet<String>) -> (Option<Manifest>, bool) {
        let mut commits: Vec<(u64, &String)> =
            names.iter().filter_map(|name| Some((commit_file::number_of(name)?, name))).collect();
        commits.sort_unstable_by(|left, right| right.cmp(left));
        if commits.is_empty() {
            self.losses.push(format!("{}: it has no commit", self.path.display()));
        }
        for (age, (_, name)) in commits.into_iter().enumerate() {
            let read = self.folder.open(name).map_err(Error::from).and_then(|file| {
                commit_file::read_manifest(&self.path_of(name), &file).or_else(|error| {
                    commit_file::find_manifest(&file).inspect(|_| {
                        let doubt = "its manifest is readable but does not match its checksum";
                        self.lose(name, &format!("{doubt} ({error}); deletions may be lost"));
                    })
                })
            });
            match read {
                Ok(manifest) => return (Some(manifest), age == 0),
                Err(error) => self.lose(
                    name,
                    &format!(
                        "it is unreadable ({error}): its changes are lost, documents it deleted may come back"
                    ),
                ),
            }
        }
        (None, false)
    }

    fn settings(&mut self, manifest: &Manifest) -> Settings {
        let Some(blob) = &manifest.settings else { return Settings::default() };
        let read = self.intact(blob).and_then(|bytes| {
            let text = String::from_utf8(bytes).context("settings are no text")?;
            Settings::parse(&text)
        });
        read.unwrap_or_else(|error| {
            self.lose(&blob.file, &format!("the settings are unreadable ({error})"));
            Settings::default()
        })
    }

    /// Returns the bytes of a blob, and true if they match its checksum.
    fn blob(&self, blob: &Blob) -> Result<(FileSlice, bool)> {
        let slice = commit_file::slice_of(blob, &self.folder.open(&blob.file)?)?;
        let is_intact = crc32fast::hash(&slice.read_bytes()?) == blob.checksum;
        Ok((slice, is_intact))
    }

    fn intact(&self, blob: &Blob) -> Result<Vec<u8>> {
        let (slice, is_intact) = self.blob(blob)?;
        if !is_intact {
            return Err(Error::internal(self.path_of(&blob.file), "its checksum does not match its content"));
        }
        Ok(slice.read_bytes()?.to_vec())
    }

    /// Opens the documents of a segment; `None` if its store cannot be opened.
    fn segment(&mut self, entry: &SegmentEntry) -> Option<SalvagedSegment> {
        let lost = |reader: &mut Self, file: &str, reason: &str| {
            reader.lose(file, &format!("{} documents in it are lost ({reason})", entry.documents));
            None
        };
        let Some(blob) = entry.files.get("store") else {
            return lost(self, &entry.id, "the manifest names no store");
        };
        let opened = self.blob(blob).and_then(|(slice, is_intact)| Ok((open_store(slice)?, is_intact)));
        let (store, is_intact) = match opened {
            Ok(opened) => opened,
            Err(error) => return lost(self, &blob.file, &error.to_string()),
        };
        Some(SalvagedSegment {
            path: self.path_of(&blob.file),
            store,
            is_intact,
            docids: self.docids(entry),
            documents: entry.documents,
            deleted: self.deleted(entry),
        })
    }

    fn deleted(&mut self, entry: &SegmentEntry) -> RoaringBitmap {
        let Some(blob) = &entry.deleted else { return RoaringBitmap::new() };
        let read = self.intact(blob).and_then(|bytes| {
            RoaringBitmap::deserialize_from(bytes.as_slice()).context("deletions are unreadable")
        });
        read.unwrap_or_else(|error| {
            self.lose(&blob.file, &format!("deleted and replaced documents come back ({error})"));
            RoaringBitmap::new()
        })
    }

    fn docids(&mut self, entry: &SegmentEntry) -> Option<Vec<u32>> {
        let blob = entry.files.get("fast")?;
        let read = self.blob(blob).and_then(|(slice, is_intact)| {
            let docids = docids_in(slice, entry.documents)?;
            // Docids without a gap are correct: damage does not produce such a sequence.
            let has_no_gap = docids.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
            if is_intact || has_no_gap {
                return Ok(docids);
            }
            Err(Error::internal(self.path_of(&blob.file), "its checksum does not match its content"))
        });
        read.map_err(|error| {
            let cost = "its documents come last among those that rank equally, without their vectors";
            self.lose(&blob.file, &format!("{cost} ({error})"));
        })
        .ok()
    }

    /// Finds segment files that `manifest` does not name: an unreadable commit may have named them.
    fn unnamed_segments(
        &mut self,
        names: &BTreeSet<String>,
        manifest: Option<&Manifest>,
    ) -> Vec<SalvagedSegment> {
        let named: BTreeSet<&str> = manifest.map(Manifest::file_names).unwrap_or_default();
        let mut segments = Vec::new();
        for name in names.iter().filter(|name| !named.contains(String::as_str(name))) {
            let own = name.strip_prefix(SEGMENT_FILE_PREFIX);
            let Some(stem) = own.and_then(|name| name.strip_suffix(STORE_SUFFIX)) else { continue };
            let opened = self.folder.open(name).map_err(Error::from).and_then(open_store);
            let Ok(store) = opened else { continue };
            let documents = count(&store);
            let fast = self.folder.open(&format!("{SEGMENT_FILE_PREFIX}{stem}.fast"));
            let docids = fast.map_err(Error::from).and_then(|slice| docids_in(slice, documents)).ok();
            let deleted = RoaringBitmap::new();
            let path = self.path_of(name);
            self.losses.push(format!("{path}: its {documents} documents may have been deleted or replaced"));
            // No manifest has a checksum of this file.
            segments.push(SalvagedSegment { path, store, is_intact: false, docids, documents, deleted });
        }
        segments
    }
}

/// Suffix of the names of document stores in separate files.
const STORE_SUFFIX: &str = ".store";

fn open_store(slice: FileSlice) -> Result<StoreReader> {
    without_panic(|| {
        let content = content_of(slice, "store")?;
        StoreReader::open(content, BLOCKS_CACHED).context("the store of documents does not open")
    })
}

/// Returns the content of a segment file, without the footer that tantivy appends.
fn content_of(bytes: FileSlice, extension: &str) -> Result<FileSlice> {
    let file = SegmentFile { bytes, checksum: 0, own: None };
    let files = SegmentFiles::of(SEGMENT, [(extension.to_owned(), file)]);
    let directory = Layout::newest().index(files)?.directory().clone();
    directory.open_read(Path::new(&format!("{SEGMENT}.{extension}"))).context("a file has no footer")
}

/// Segment name under which a single file is opened.
const SEGMENT: &str = "salvaged";

/// Counts the documents of a store.
fn count(store: &StoreReader) -> u32 {
    let is_beyond = |doc: &DocId| {
        let read = without_panic(|| Ok(store.get::<TantivyDocument>(*doc)));
        matches!(read, Ok(Err(TantivyError::InvalidArgument(_))))
    };
    (0..DELETED).find(is_beyond).unwrap_or(0)
}

fn docids_in(slice: FileSlice, documents: u32) -> Result<Vec<u32>> {
    without_panic(|| {
        let damaged = |reason: &str| Error::internal("docids are unreadable", reason.to_owned());
        let columns = ColumnarReader::open(content_of(slice, "fast")?)?.read_columns(schema::names::DOCID)?;
        let column = columns.first().map(|column| column.open_u64_lenient()).transpose()?.flatten();
        let column = column.ok_or_else(|| damaged("their column is missing"))?;
        if column.values.num_vals() != documents {
            return Err(damaged("their number differs from the number of documents"));
        }
        let docid = |doc| u32::try_from(column.values.get_val(doc)).ok().filter(|&docid| docid != DELETED);
        (0..documents).map(|doc| docid(doc).ok_or_else(|| damaged("a docid is too large"))).collect()
    })
}

/// Converts a panic into an error: tantivy may panic on bytes that it did not write.
fn without_panic<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::internal("a damaged part could not be read", "it does not decode")))
}

/// Decompressed blocks that a store caches during a sequential read.
const BLOCKS_CACHED: usize = 16;
