//! Writes the documents of a staged batch as segments.

use allocator_api2::vec::Vec as SpillVec;
use roaring::RoaringBitmap;

use super::batch_monitor::Step;
use super::cost::wants_column;
use super::entries::no_disk_space;
use super::entry::Update;
use super::flatten::{Flattener, Rules};
use super::json::Object;
use super::spill_allocator::SpillAllocator;
use super::staged_batch::{StagedBatch, id_in};
use crate::error::Result;
use crate::store::{Change, IndexedDocument, Layout, SegmentBuilder, Spill};
use crate::threads::{self, Priority, in_parallel};

/// Least number of documents for a thread: starting one takes longer than indexing fewer.
const DOCUMENTS_PER_THREAD_MIN: usize = 256;

/// Least memory for a thread, in bytes: with less it would write many small segments.
const BYTES_PER_THREAD_MIN: usize = 8_000_000;

/// Least memory for a segment in addition to its empty tables, in bytes. It prevents segments of only a few documents.
const BYTES_PER_SEGMENT_MIN: usize = 4_000_000;

/// Documents between two measurements of the memory of a segment.
const DOCUMENTS_PER_CHECK: usize = 32;

/// Limit for bytes of tables per byte of JSON, so that a small batch does not allocate large tables.
const MEMORY_PER_BYTE: usize = 8;

/// Returns the layout of new segments.
pub fn layout() -> Layout {
    Layout::newest()
}

/// Resources for writing segments.
pub struct WriteOptions {
    /// Threads that analyse and build segments.
    pub threads: usize,
    /// Memory for all segments being built together, in bytes.
    pub memory_bytes: usize,
    /// Directory of segments. Its `stop` is set when the batch is abandoned.
    pub spill: Spill,
}

/// Source of the content of a document to write.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// The entry in this row.
    Entry(u32),
    /// The base: the document is written again with other settings.
    Base,
}

/// Writes the documents changed by a staged batch as new segments, in ascending docids. They are invisible until the
/// commit. Files of segments that are never committed are removed.
pub fn write(staged: &StagedBatch, layout: &Layout, options: &WriteOptions) -> Result<Change> {
    let reindexes = staged.needs_reindexing();
    let cleared = staged.cleared || reindexes;
    let mut change = Change { cleared, ..Change::default() };
    let mut documents: SpillVec<(u32, Source), SpillAllocator> = SpillVec::new_in(staged.spill().clone());
    documents.try_reserve(staged.entries.len()).map_err(|error| no_disk_space(&error))?;
    for (row, entry) in (0..).zip(staged.entries.values()) {
        match entry.docid {
            Some(docid) => documents.push((docid, Source::Entry(row))),
            None => change.deleted.extend(entry.base),
        }
    }
    if let (true, false, Some(base)) = (reindexes, staged.cleared, &staged.base) {
        let replaced: RoaringBitmap = staged.entries.values().filter_map(|entry| entry.base).collect();
        let unchanged = base.documents() - replaced;
        documents.try_reserve(unchanged.len() as usize).map_err(|error| no_disk_space(&error))?;
        documents.extend(unchanged.into_iter().map(|docid| (docid, Source::Base)));
    }
    documents.sort_unstable_by_key(|(docid, _)| *docid);
    staged.monitor.progress.begin(Step::Indexing, documents.len() as u64);

    let analyzer = staged.analyzer()?;
    let wants = |path: &str| wants_column(&staged.settings, path);
    let rules = Rules { analyzer: &analyzer, fields: &staged.fields, wants_column: &wants };
    let threads = options.threads.min(options.memory_bytes / BYTES_PER_THREAD_MIN).max(1);
    let shares = split(staged, &documents, threads);
    let memory_bytes = options.memory_bytes / shares.len().max(1);
    let write = |documents: &[(u32, Source)]| {
        let flattener = Flattener::new(rules);
        SegmentWriter {
            staged,
            layout,
            options,
            flattener,
            memory_bytes,
            cleared,
            deleted: RoaringBitmap::new(),
            released: (0, 0),
        }
        .write(documents)
    };
    let write_all = || in_parallel(&shares, |documents| write(documents));
    let written = if documents.len() < DOCUMENTS_PER_THREAD_MIN {
        write_all()
    } else {
        // Searches keep their share of the processors while many documents are written.
        threads::giving_way(Priority::Third, write_all).unwrap_or_else(|_| write_all())
    };
    for written in written {
        let written = written?;
        change.added.extend(written.added);
        change.deleted |= written.deleted;
    }
    Ok(change)
}

/// Writes the documents of a thread as separate segments.
struct SegmentWriter<'a> {
    staged: &'a StagedBatch,
    layout: &'a Layout,
    options: &'a WriteOptions,
    flattener: Flattener<'a>,
    memory_bytes: usize,
    cleared: bool,
    /// Docids in the base of documents that were replaced.
    deleted: RoaringBitmap,
    /// Last body read, and the offset up to which its memory was released.
    released: (u32, u64),
}

impl SegmentWriter<'_> {
    fn write(mut self, documents: &[(u32, Source)]) -> Result<Change> {
        let mut added = Vec::new();
        let (mut builder, mut empty_bytes) = (None, 0);
        let mut weight = weight_of_all(self.staged, documents);
        for (number, &(docid, source)) in documents.iter().enumerate() {
            self.staged.monitor.next()?;
            let rest = weight;
            weight -= weight_of(self.staged, source);
            let Some(document) = self.flatten(docid, source)? else { continue };
            let building = match &mut builder {
                Some(building) => building,
                None => {
                    let spill = Some(self.options.spill.clone());
                    let bytes = self.memory_bytes.min(rest * MEMORY_PER_BYTE);
                    let building = builder.insert(SegmentBuilder::new(self.layout, spill, bytes)?);
                    empty_bytes = building.memory_bytes();
                    building
                }
            };
            building.add(document.with_fields(self.layout.fields()))?;
            let most = self.memory_bytes.max(empty_bytes + BYTES_PER_SEGMENT_MIN);
            if number % DOCUMENTS_PER_CHECK == 0 && building.memory_bytes() > most {
                added.extend(builder.take().map_or(Ok(None), SegmentBuilder::finish)?);
            }
        }
        added.extend(builder.map_or(Ok(None), SegmentBuilder::finish)?);
        Ok(Change { added, deleted: self.deleted, cleared: false })
    }

    /// Returns the document as it is indexed; `None` if it did not change.
    fn flatten(&mut self, docid: u32, source: Source) -> Result<Option<IndexedDocument>> {
        let staged = self.staged;
        let row = match source {
            Source::Entry(row) => row as usize,
            Source::Base => {
                let Some(base) = &staged.base else { return Ok(None) };
                let document = base.document(docid)?.unwrap_or_default();
                let (id, document) = (id_in(base, docid)?, Object::from(&document));
                return self.flattener.flatten(docid, &id, &document, document.to_source()?).map(Some);
            }
        };
        let (id, entry) = staged.entries.row(row);
        let merged;
        let document = match staged.plain(entry)? {
            Some(document) => document,
            None => {
                merged = staged.merged(entry)?;
                Object::from(&merged)
            }
        };
        let source = document.to_source()?;
        if let Some(&Update::Body { spool, slice }) = entry.updates.last() {
            self.release_before(spool, slice.start());
        }
        if let (Some(base), false) = (entry.base, self.cleared) {
            if base == docid && is_unchanged(staged, docid, &source)? {
                return Ok(None);
            }
            self.deleted.insert(base);
        }
        self.flattener.flatten(docid, id, &document, source).map(Some)
    }

    /// Releases the memory of a body before an offset. Documents are written roughly in the order of their bodies, so
    /// few of the documents before the offset are read again.
    fn release_before(&mut self, spool: u32, offset: u64) {
        let (last, end) = self.released;
        if spool != last || offset < end {
            self.released = (spool, offset);
        } else if offset - end > RELEASED_BYTES_MIN {
            self.staged.spools[spool as usize].release(end..offset);
            self.released = (spool, offset);
        }
    }
}

/// Least range in which memory of bodies is released, in bytes.
const RELEASED_BYTES_MIN: u64 = 1 << 20;

/// Returns true if the base stores the same text for a document, which then need not be written.
fn is_unchanged(staged: &StagedBatch, docid: u32, source: &[u8]) -> Result<bool> {
    let Some(base) = &staged.base else { return Ok(false) };
    Ok(base.source(docid)?.is_some_and(|stored| stored == source))
}

/// Splits documents into shares of about the same weight, one per thread.
fn split<'d>(
    staged: &StagedBatch,
    documents: &'d [(u32, Source)],
    threads: usize,
) -> Vec<&'d [(u32, Source)]> {
    let threads = threads.min(documents.len() / DOCUMENTS_PER_THREAD_MIN).max(1);
    let weight_max = weight_of_all(staged, documents) / threads + 1;
    let (mut shares, mut rest, mut weight, mut at) = (Vec::with_capacity(threads), documents, 0, 0);
    while at < rest.len() {
        weight += weight_of(staged, rest[at].1);
        at += 1;
        if weight > weight_max {
            let (share, others) = rest.split_at(at);
            shares.push(share);
            (rest, weight, at) = (others, 0, 0);
        }
    }
    shares.push(rest);
    shares
}

fn weight_of_all(staged: &StagedBatch, documents: &[(u32, Source)]) -> usize {
    documents.iter().map(|&(_, source)| weight_of(staged, source)).sum()
}

/// Returns the approximate cost of writing a document, in bytes of JSON. Uses an estimate for stored documents, because
/// their length is unknown before reading them.
fn weight_of(staged: &StagedBatch, source: Source) -> usize {
    let bytes = match source {
        Source::Entry(row) => staged.entries[row as usize].updates.iter().map(Update::bytes).sum(),
        Source::Base => 512,
    };
    bytes + 256
}
