//! A staged batch becomes segments.

use allocator_api2::vec::Vec as SpillVec;
use roaring::RoaringBitmap;

use super::batch_monitor::Step;
use super::cost::{Cost, cost_of, wants_column};
use super::entries::no_disk_space;
use super::entry::Piece;
use super::flatten::{Flattener, Rules};
use super::json::Object;
use super::spill_allocator::SpillAllocator;
use super::staged_batch::{StagedBatch, id_in};
use crate::analysis::Analyzer;
use crate::error::Result;
use crate::store::{Change, IndexedDocument, Layout, SegmentBuilder, Spill};
use crate::threads::in_parallel;

/// Fewer documents are not worth a thread.
const DOCUMENTS_PER_THREAD_MIN: usize = 256;

/// Memory for segments without which another thread is not worth it.
const BYTES_PER_THREAD_MIN: usize = 8_000_000;

/// What a segment being built may always take beside its empty tables, in bytes: whatever the bound, it is not given up
/// for a few documents.
const BYTES_PER_SEGMENT_MIN: usize = 4_000_000;

/// How often a segment being built is asked what it takes.
const DOCUMENTS_PER_CHECK: usize = 32;

/// At most this many bytes of tables for a byte of JSON, so that a small batch does not get large ones.
const MEMORY_PER_BYTE: usize = 8;

/// The layout of every new segment.
pub fn layout() -> Layout {
    Layout::newest()
}

/// What writing may use.
pub struct WriteOptions {
    /// Threads that analyse and build segments.
    pub threads: usize,
    /// Memory for all segments being built together, in bytes.
    pub memory_bytes: usize,
    /// Where segments go. Its `stop` is set from outside once the outcome is of no use any more.
    pub spill: Spill,
}

impl StagedBatch {
    /// Whether every document has to be written again.
    fn needs_reindexing(&self) -> bool {
        self.base.as_ref().is_some_and(|base| cost_of(base.settings(), &self.settings) == Cost::Documents)
    }
}

/// One document to write.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// The entry at this place.
    Changed(u32),
    /// The document of the base, under other settings.
    Again,
}

/// Writes everything a staged batch changes as new segments, in ascending docids. Nothing is visible before they are
/// committed, and nothing stays if they never are.
pub fn write(staged: &StagedBatch, layout: &Layout, options: &WriteOptions) -> Result<Change> {
    let again = staged.needs_reindexing();
    let cleared = staged.cleared || again;
    let mut change = Change { cleared, ..Change::default() };
    let mut work: SpillVec<(u32, Work), SpillAllocator> = SpillVec::new_in(staged.spill().clone());
    work.try_reserve(staged.entries.len()).map_err(|error| no_disk_space(&error))?;
    for (place, entry) in (0..).zip(staged.entries.values()) {
        match entry.docid {
            Some(docid) => work.push((docid, Work::Changed(place))),
            None => change.deleted.extend(entry.base),
        }
    }
    if let (true, false, Some(base)) = (again, staged.cleared, &staged.base) {
        let replaced: RoaringBitmap = staged.entries.values().filter_map(|entry| entry.base).collect();
        let kept = base.documents() - replaced;
        work.try_reserve(kept.len() as usize).map_err(|error| no_disk_space(&error))?;
        work.extend(kept.into_iter().map(|docid| (docid, Work::Again)));
    }
    work.sort_unstable_by_key(|(docid, _)| *docid);
    staged.monitor.progress.begin(Step::Indexing, work.len() as u64);

    let analyzer = Analyzer::new(&staged.settings)?;
    let wants = |path: &str| wants_column(&staged.settings, path);
    let rules = Rules { analyzer: &analyzer, fields: &staged.fields, wants_column: &wants };
    // Threads that have little memory each would write many small segments.
    let threads = options.threads.min(options.memory_bytes / BYTES_PER_THREAD_MIN).max(1);
    let parts = split(staged, &work, threads);
    let memory_bytes = options.memory_bytes / parts.len().max(1);
    let part = |work: &[(u32, Work)]| {
        let flattener = Flattener::new(rules);
        Part {
            staged,
            layout,
            options,
            flattener,
            memory_bytes,
            cleared,
            deleted: RoaringBitmap::new(),
            let_go: (0, 0),
        }
        .write(work)
    };
    for part in in_parallel(&parts, |work| part(work)) {
        let part = part?;
        change.added.extend(part.added);
        change.deleted |= part.deleted;
    }
    Ok(change)
}

/// Documents of one thread, which become segments of their own.
struct Part<'a> {
    staged: &'a StagedBatch,
    layout: &'a Layout,
    options: &'a WriteOptions,
    flattener: Flattener<'a>,
    memory_bytes: usize,
    cleared: bool,
    /// Docids of documents that were replaced.
    deleted: RoaringBitmap,
    /// A body, and up to where it was let go.
    let_go: (u32, u64),
}

impl Part<'_> {
    fn write(mut self, all: &[(u32, Work)]) -> Result<Change> {
        let mut added = Vec::new();
        let (mut builder, mut empty_bytes) = (None, 0);
        let mut weight = weight_of_all(self.staged, all);
        for (number, &(docid, work)) in all.iter().enumerate() {
            self.staged.monitor.next()?;
            let rest = weight;
            weight -= weight_of(self.staged, work);
            let Some(document) = self.flatten(docid, work)? else { continue };
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

    /// None if the document did not change.
    fn flatten(&mut self, docid: u32, work: Work) -> Result<Option<IndexedDocument>> {
        let staged = self.staged;
        let place = match work {
            Work::Changed(place) => place as usize,
            Work::Again => {
                let Some(base) = &staged.base else { return Ok(None) };
                let document = base.document(docid)?.unwrap_or_default();
                let (id, document) = (id_in(base, docid)?, Object::from(&document));
                return self.flattener.flatten(docid, &id, &document, document.to_source()?).map(Some);
            }
        };
        let (id, entry) = staged.entries.row(place);
        let merged;
        let document = match staged.plain(entry)? {
            Some(document) => document,
            None => {
                merged = staged.merged(entry)?;
                Object::from(&merged)
            }
        };
        let source = document.to_source()?;
        if let Some(&Piece::Body { spool, slice }) = entry.pieces.last() {
            self.read_past(spool, slice.start());
        }
        if let (Some(base), false) = (entry.base, self.cleared) {
            if base == docid && is_unchanged(staged, docid, &source)? {
                return Ok(None);
            }
            self.deleted.insert(base);
        }
        self.flattener.flatten(docid, id, &document, source).map(Some)
    }

    /// Documents are written about in the order in which they lie in their bodies, so what lies before this one is
    /// hardly needed any more.
    fn read_past(&mut self, spool: u32, place: u64) {
        let (known, behind) = self.let_go;
        if spool != known || place < behind {
            self.let_go = (spool, place);
        } else if place - behind > LET_GO_BYTES {
            self.staged.spools[spool as usize].release(behind..place);
            self.let_go = (spool, place);
        }
    }
}

/// Bodies are let go in stretches of this many bytes.
const LET_GO_BYTES: u64 = 1 << 20;

/// Compares as stored: a document that did not change is not written again.
fn is_unchanged(staged: &StagedBatch, docid: u32, source: &[u8]) -> Result<bool> {
    let Some(base) = &staged.base else { return Ok(false) };
    Ok(base.source(docid)?.is_some_and(|stored| stored == source))
}

/// Cuts work into one part per thread, of about the same weight each.
fn split<'w>(staged: &StagedBatch, work: &'w [(u32, Work)], threads: usize) -> Vec<&'w [(u32, Work)]> {
    let threads = threads.min(work.len() / DOCUMENTS_PER_THREAD_MIN).max(1);
    let share = weight_of_all(staged, work) / threads + 1;
    let (mut parts, mut rest, mut weight, mut at) = (Vec::with_capacity(threads), work, 0, 0);
    while at < rest.len() {
        weight += weight_of(staged, rest[at].1);
        at += 1;
        if weight > share {
            let (part, others) = rest.split_at(at);
            parts.push(part);
            (rest, weight, at) = (others, 0, 0);
        }
    }
    parts.push(rest);
    parts
}

fn weight_of_all(staged: &StagedBatch, work: &[(u32, Work)]) -> usize {
    work.iter().map(|&(_, work)| weight_of(staged, work)).sum()
}

/// About how much there is to do, in bytes of JSON.
fn weight_of(staged: &StagedBatch, work: Work) -> usize {
    let known = match work {
        Work::Changed(place) => staged.entries[place as usize].pieces.iter().map(Piece::bytes).sum(),
        Work::Again => 512,
    };
    known + 256
}
