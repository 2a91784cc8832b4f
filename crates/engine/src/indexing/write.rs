//! A draft becomes segments.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use roaring::RoaringBitmap;
use serde_json::{Map, Value};

use super::draft::{Draft, Entry, Piece, id_in, is_filterable};
use super::flatten::{Flattened, Flattener};
use super::layout;
use crate::analysis::Analyzer;
use crate::error::{Error, Result};
use crate::fields::{FieldId, is_same_or_below};
use crate::settings::Settings;
use crate::store::{Change, Layout, SegmentBuilder, SegmentView, Snapshot, SnapshotParts, Spill};

/// Fewer documents are not worth a thread.
const DOCUMENTS_PER_THREAD_MIN: usize = 256;

/// How often a segment being built is asked what it takes.
const DOCUMENTS_PER_CHECK: usize = 32;

/// At most this many bytes of tables for a byte of JSON, so that a small batch does not get large ones.
const MEMORY_PER_BYTE: usize = 8;

/// What writing may use.
pub struct WriteOptions {
    /// Threads that analyse and build segments.
    pub threads: usize,
    /// Memory for all segments being built together, in bytes.
    pub memory_bytes: usize,
    /// Where segments go. Its `stop` is set from outside once nobody waits for the outcome any more.
    pub spill: Spill,
}

/// The documents of a draft before it is written: the base under the draft's settings, and what changed.
pub struct Preview {
    /// None if nothing of it is left.
    pub base: Option<Snapshot>,
    /// None if nothing changed.
    pub changed: Option<Snapshot>,
}

impl Draft {
    /// Fields, settings and primary key as they will be.
    pub fn parts(&self, long: BTreeSet<FieldId>) -> SnapshotParts {
        SnapshotParts {
            fields: Arc::clone(&self.fields),
            settings: Arc::clone(&self.settings),
            primary_key: self.primary_key.clone(),
            long: Arc::new(long),
        }
    }

    fn base_long(&self) -> BTreeSet<FieldId> {
        self.base.as_ref().map(|base| base.parts().long.as_ref().clone()).unwrap_or_default()
    }

    /// Whether every document has to be written again: what its text became has changed, or a column is
    /// wanted that was left out.
    fn needs_reindexing(&self) -> bool {
        let Some(base) = &self.base else { return false };
        let wanted =
            |field: &FieldId| self.fields.name(*field).is_some_and(|path| wants_column(&self.settings, path));
        !same_analysis(base.settings(), &self.settings) || base.parts().long.iter().any(wanted)
    }
}

/// Shows a draft to readers. What changed is kept in memory.
pub fn preview(draft: &Draft) -> Result<Preview> {
    let parts = draft.parts(draft.base_long());
    let base = draft.base.as_ref().filter(|_| !draft.cleared);
    let vectors = Arc::new(draft.vectors.preview());
    let base = base.map(|base| base.with_parts(parts.clone()));
    if let Some(base) = &base {
        base.attachments().put(Arc::clone(&vectors));
    }
    if draft.entries.is_empty() {
        return Ok(Preview { base, changed: None });
    }
    let analyzer = Analyzer::new(&draft.settings)?;
    let wants = |_: &str| true;
    let flattener = Flattener { analyzer: &analyzer, fields: &draft.fields, wants_column: &wants };
    let layout = layout();
    let mut builder = SegmentBuilder::new(&layout, None, 0)?;
    for (id, entry) in &draft.entries {
        if let Some(docid) = entry.docid {
            let flat = flattener.flatten(docid, id, &draft.merged(entry)?)?;
            builder.add(flat.document.with_fields(layout.fields()))?;
        }
    }
    let segments = builder.finish()?.map(SegmentView::of).transpose()?;
    let changed = Snapshot::new(&layout, parts, segments.into_iter().collect());
    changed.attachments().put(vectors);
    Ok(Preview { base, changed: Some(changed) })
}

/// One document to write.
enum Work<'d> {
    Changed { id: &'d str, entry: &'d Entry },
    Again { docid: u32 },
}

/// What a draft came to: hand `change` to a commit, and it is visible.
#[derive(Default)]
pub struct Written {
    /// New segments, and what is gone from the old ones.
    pub change: Change,
    /// Fields with strings too long for a column.
    pub long: BTreeSet<FieldId>,
}

/// Writes everything a draft changes as new segments, in ascending docids. Nothing is visible before they are
/// committed, and nothing stays if they never are.
pub fn write(draft: &Draft, layout: &Layout, options: &WriteOptions) -> Result<Written> {
    let again = draft.needs_reindexing();
    let cleared = draft.cleared || again;
    let mut written = Written { change: Change { cleared, ..Change::default() }, ..Written::default() };
    if !cleared {
        written.long = draft.base_long();
    }
    let mut work: Vec<(u32, Work<'_>)> = Vec::new();
    for (id, entry) in &draft.entries {
        match entry.docid {
            Some(docid) => work.push((docid, Work::Changed { id, entry })),
            None => written.change.deleted.extend(entry.base),
        }
    }
    if let (true, false, Some(base)) = (again, draft.cleared, &draft.base) {
        let replaced: RoaringBitmap = draft.entries.values().filter_map(|entry| entry.base).collect();
        let kept = base.documents() - replaced;
        work.extend(kept.into_iter().map(|docid| (docid, Work::Again { docid })));
    }
    work.sort_unstable_by_key(|(docid, _)| *docid);

    let analyzer = Analyzer::new(&draft.settings)?;
    let wants = |path: &str| wants_column(&draft.settings, path);
    let flattener = Flattener { analyzer: &analyzer, fields: &draft.fields, wants_column: &wants };
    let parts = split(&work, options.threads);
    let memory_bytes = options.memory_bytes / parts.len().max(1);
    let part = |work: &[(u32, Work<'_>)]| {
        Part { draft, layout, options, flattener: &flattener, memory_bytes, cleared }.write(work)
    };
    for part in in_parallel(&parts, &part) {
        let part = part?;
        written.change.added.extend(part.change.added);
        written.change.deleted |= part.change.deleted;
        written.long.extend(part.long);
    }
    Ok(written)
}

/// Documents of one thread, which become segments of their own.
struct Part<'a> {
    draft: &'a Draft,
    layout: &'a Layout,
    options: &'a WriteOptions,
    flattener: &'a Flattener<'a>,
    memory_bytes: usize,
    cleared: bool,
}

impl Part<'_> {
    fn write(&self, all: &[(u32, Work<'_>)]) -> Result<Written> {
        let mut written = Written::default();
        let mut builder = None;
        for (number, (docid, work)) in all.iter().enumerate() {
            if self.options.spill.stop.load(Ordering::Relaxed) {
                return Err(Error::internal("the batch was not written", "it was abandoned"));
            }
            let Some(flat) = self.flatten(*docid, work, &mut written.change.deleted)? else { continue };
            let Flattened { document, long } = flat;
            written.long.extend(long);
            let building = match &mut builder {
                Some(building) => building,
                None => builder.insert(SegmentBuilder::new(
                    self.layout,
                    Some(self.options.spill.clone()),
                    self.memory_bytes.min(weight_of_all(&all[number..]) * MEMORY_PER_BYTE),
                )?),
            };
            building.add(document.with_fields(self.layout.fields()))?;
            if number % DOCUMENTS_PER_CHECK == 0 && building.memory_bytes() > self.memory_bytes {
                written.change.added.extend(builder.take().map_or(Ok(None), SegmentBuilder::finish)?);
            }
        }
        written.change.added.extend(builder.map_or(Ok(None), SegmentBuilder::finish)?);
        Ok(written)
    }

    /// None if the document did not change. `deleted` learns what it replaces.
    fn flatten(&self, docid: u32, work: &Work<'_>, deleted: &mut RoaringBitmap) -> Result<Option<Flattened>> {
        let draft = self.draft;
        match work {
            Work::Changed { id, entry } => {
                let document = draft.merged(entry)?;
                if let (Some(base), false) = (entry.base, self.cleared) {
                    if base == docid && is_unchanged(draft, docid, &document)? {
                        return Ok(None);
                    }
                    deleted.insert(base);
                }
                self.flattener.flatten(docid, id, &document).map(Some)
            }
            Work::Again { docid } => {
                let Some(base) = &draft.base else { return Ok(None) };
                let document = base.document(*docid)?.unwrap_or_default();
                self.flattener.flatten(*docid, &id_in(base, *docid)?, &document).map(Some)
            }
        }
    }
}

/// Compares as stored: a document that did not change is not written again.
fn is_unchanged(draft: &Draft, docid: u32, document: &Map<String, Value>) -> Result<bool> {
    let Some(base) = &draft.base else { return Ok(false) };
    let stored = base.source(docid)?;
    let fresh = serde_json::to_vec(document)
        .map_err(|source| Error::internal("a document cannot be written as JSON", source))?;
    Ok(stored.is_some_and(|stored| stored == fresh))
}

/// Cuts work into one part per thread, of about the same weight each.
fn split<'w, 'd>(work: &'w [(u32, Work<'d>)], threads: usize) -> Vec<&'w [(u32, Work<'d>)]> {
    let threads = threads.min(work.len() / DOCUMENTS_PER_THREAD_MIN).max(1);
    let share = weight_of_all(work) / threads + 1;
    let (mut parts, mut rest, mut weight, mut at) = (Vec::with_capacity(threads), work, 0, 0);
    while at < rest.len() {
        weight += weight_of(&rest[at].1);
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

fn weight_of_all(work: &[(u32, Work<'_>)]) -> usize {
    work.iter().map(|(_, work)| weight_of(work)).sum()
}

/// About how much there is to do, in bytes of JSON.
fn weight_of(work: &Work<'_>) -> usize {
    let known = match work {
        Work::Changed { entry, .. } => entry.pieces.iter().map(Piece::bytes).sum(),
        Work::Again { .. } => 512,
    };
    known + 256
}

/// Runs `make` over parts, each on a thread of its own, and gives the outcomes in order.
fn in_parallel<W: Sync, R: Send>(
    parts: &[&[W]],
    make: &(dyn Fn(&[W]) -> Result<R> + Sync),
) -> Vec<Result<R>> {
    let Some((first, others)) = parts.split_first() else { return Vec::new() };
    std::thread::scope(|scope| {
        let mut helpers = Vec::with_capacity(others.len());
        for part in others {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            helpers.push((thread.spawn_scoped(scope, move || make(part)), part));
        }
        let mut made = vec![make(first)];
        for (helper, part) in helpers {
            made.push(match helper.map(|helper| helper.join()) {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // No thread was to be had: slower, but no reason to fail.
                Err(_) => make(part),
            });
        }
        made
    })
}

/// Documents nest at most 128 deep (serde_json's limit), so this is generous.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Whether texts become the same words under both.
fn same_analysis(one: &Settings, other: &Settings) -> bool {
    one.stop_words == other.stop_words
        && one.separator_tokens == other.separator_tokens
        && one.non_separator_tokens == other.non_separator_tokens
        && one.dictionary == other.dictionary
        && one.localized_attributes == other.localized_attributes
}

/// Whether a setting makes use of the column of `path`, however long its strings are.
fn wants_column(settings: &Settings, path: &str) -> bool {
    let custom = settings
        .ranking_rules
        .iter()
        .filter_map(|rule| rule.strip_suffix(":asc").or_else(|| rule.strip_suffix(":desc")));
    let mut named = settings
        .sortable_attributes
        .iter()
        .chain(&settings.distinct_attribute)
        .map(String::as_str)
        .chain(custom);
    named.any(|name| is_same_or_below(name, path)) || is_filterable(settings, path)
}
