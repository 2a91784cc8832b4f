//! A draft becomes segments.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::{Map, Value};
use tantivy::Term;

use super::draft::{Draft, Entry, id_in, is_filterable};
use super::flatten::{Flattened, Flattener};
use crate::analysis::Analyzer;
use crate::error::{Error, Result};
use crate::fields::{FieldId, is_same_or_below};
use crate::settings::Settings;
use crate::store::schema::Fields;
use crate::store::{Snapshot, SnapshotParts, Writer, in_memory};

/// Documents a thread analyses before it waits for its turn to hand them on.
const DOCUMENTS_PER_CHUNK: usize = 64;

/// Analysed documents that wait for tantivy, in bytes.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What writing may use, and whether it shall stop.
pub struct WriteOptions<'a> {
    /// Threads that analyse.
    pub threads: usize,
    /// Set from outside: nobody waits for the outcome any more.
    pub stop: &'a AtomicBool,
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
    let changed = in_memory(parts, |writer, fields| {
        for (id, entry) in &draft.entries {
            if let Some(docid) = entry.docid {
                let flat = flattener.flatten(docid, id, &draft.merged(entry)?)?;
                writer.add_document(flat.document.with_fields(fields))?;
            }
        }
        Ok(())
    })?;
    changed.attachments().put(vectors);
    Ok(Preview { base, changed: Some(changed) })
}

/// One document to write.
enum Work<'d> {
    Changed { id: &'d str, entry: &'d Entry },
    Again { docid: u32 },
}

/// Hands everything a draft changes to `writer`, in ascending docids. Gives the fields with strings too
/// long for a column. Nothing is visible before `writer` commits.
pub fn write(
    draft: &Draft,
    writer: &Writer,
    fields: Fields,
    options: &WriteOptions<'_>,
) -> Result<BTreeSet<FieldId>> {
    let again = draft.needs_reindexing();
    let from_scratch = draft.cleared || again;
    if from_scratch {
        writer.delete_all_documents()?;
    }
    let delete = |id: &str| {
        if !from_scratch {
            writer.delete_term(Term::from_field_text(fields.id, id));
        }
    };
    let mut work: Vec<(u32, Work<'_>)> = Vec::new();
    for (id, entry) in &draft.entries {
        match entry.docid {
            Some(docid) => work.push((docid, Work::Changed { id, entry })),
            None if entry.base.is_some() => delete(id),
            None => {}
        }
    }
    if let (true, false, Some(base)) = (again, draft.cleared, &draft.base) {
        let replaced: roaring::RoaringBitmap =
            draft.entries.values().filter_map(|entry| entry.base).collect();
        let kept = base.documents() - replaced;
        work.extend(kept.into_iter().map(|docid| (docid, Work::Again { docid })));
    }
    work.sort_unstable_by_key(|(docid, _)| *docid);

    let analyzer = Analyzer::new(&draft.settings)?;
    let wants = |path: &str| wants_column(&draft.settings, path);
    let flattener = Flattener { analyzer: &analyzer, fields: &draft.fields, wants_column: &wants };
    let flatten = |(docid, work): &(u32, Work<'_>)| -> Result<Option<Ready>> {
        match work {
            Work::Changed { id, entry } => {
                let document = draft.merged(entry)?;
                let replaces = entry.base.is_some() && !from_scratch;
                if replaces && entry.base == Some(*docid) && is_unchanged(draft, *docid, &document)? {
                    return Ok(None);
                }
                let flat = flattener.flatten(*docid, id, &document)?;
                Ok(Some(Ready { flat, replaces }))
            }
            Work::Again { docid } => {
                let Some(base) = &draft.base else { return Ok(None) };
                let document = base.document(*docid)?.unwrap_or_default();
                let flat = flattener.flatten(*docid, &id_in(base, *docid)?, &document)?;
                Ok(Some(Ready { flat, replaces: false }))
            }
        }
    };

    let waiting = Arc::new(Waiting::default());
    let mut long = if from_scratch { BTreeSet::new() } else { draft.base_long() };
    let hand_on = |ready: Ready, long: &mut BTreeSet<FieldId>| -> Result<()> {
        let Flattened { document, long: fields_of_document } = ready.flat;
        long.extend(fields_of_document);
        if ready.replaces {
            delete(&document.id);
        }
        let held = waiting.enter(document.memory());
        writer.add_document(document.holding(fields, Box::new(held)))?;
        Ok(())
    };
    in_order(&work, options, &flatten, &mut |ready| hand_on(ready, &mut long))?;
    Ok(long)
}

/// A document taken apart, and whether one of the same id has to go.
struct Ready {
    flat: Flattened,
    replaces: bool,
}

/// Compares as stored: a document that did not change is not written again.
fn is_unchanged(draft: &Draft, docid: u32, document: &Map<String, Value>) -> Result<bool> {
    let Some(base) = &draft.base else { return Ok(false) };
    let stored = base.source(docid)?;
    let fresh = serde_json::to_vec(document)
        .map_err(|source| Error::internal("a document cannot be written as JSON", source))?;
    Ok(stored.is_some_and(|stored| stored == fresh))
}

/// Runs `make` over `work` on several threads and `take` over the outcomes in the order of `work`.
fn in_order<W: Sync, R: Send>(
    work: &[W],
    options: &WriteOptions<'_>,
    make: &(dyn Fn(&W) -> Result<Option<R>> + Sync),
    take: &mut (dyn FnMut(R) -> Result<()> + Send),
) -> Result<()> {
    let chunks: Vec<&[W]> = work.chunks(DOCUMENTS_PER_CHUNK).collect();
    let threads = options.threads.clamp(1, chunks.len().max(1));
    let next = AtomicUsize::new(0);
    let turn = Mutex::new(Turn { chunk: 0, failed: None, take });
    let turned = Condvar::new();
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = chunks.get(number) else { return };
            let made: Result<Vec<R>> = match options.stop.load(Ordering::Relaxed) {
                true => Err(Error::internal("the batch was not written", "it was abandoned")),
                false => chunk.iter().filter_map(|item| make(item).transpose()).collect(),
            };
            let held = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = turned.wait_while(held, |turn| turn.chunk != number && turn.failed.is_none());
            let mut turn = waited.unwrap_or_else(PoisonError::into_inner);
            if turn.failed.is_none() {
                let outcome = made.and_then(|made| made.into_iter().try_for_each(|item| (turn.take)(item)));
                turn.failed = outcome.err();
            }
            turn.chunk = number + 1;
            let failed = turn.failed.is_some();
            drop(turn);
            turned.notify_all();
            if failed {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads)
            .map(|_| {
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || {
                    // A panic must not leave the others waiting for a turn that never comes.
                    let guard = FailOnPanic { turn: &turn, turned: &turned };
                    worker();
                    std::mem::forget(guard);
                })
            })
            .filter_map(std::result::Result::ok)
            .collect();
        let guard = FailOnPanic { turn: &turn, turned: &turned };
        worker();
        std::mem::forget(guard);
        for helper in helpers {
            if let Err(panic) = helper.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let turn = turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    turn.failed.map_or(Ok(()), Err)
}

/// Documents nest at most 128 deep (serde_json's limit), so this is generous.
const STACK_BYTES: usize = 8 * 1024 * 1024;

struct Turn<'t, R> {
    chunk: usize,
    failed: Option<Error>,
    take: &'t mut (dyn FnMut(R) -> Result<()> + Send),
}

struct FailOnPanic<'a, 't, R> {
    turn: &'a Mutex<Turn<'t, R>>,
    turned: &'a Condvar,
}

impl<R> Drop for FailOnPanic<'_, '_, R> {
    fn drop(&mut self) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        turn.failed.get_or_insert_with(|| Error::internal("a document could not be analysed", "panic"));
        drop(turn);
        self.turned.notify_all();
    }
}

/// Bytes of documents between analysis and tantivy, whose own queue is bounded by number only.
#[derive(Default)]
struct Waiting {
    bytes: Mutex<usize>,
    left: Condvar,
}

struct Held {
    waiting: Arc<Waiting>,
    bytes: usize,
}

impl Waiting {
    fn enter(self: &Arc<Self>, bytes: usize) -> Held {
        let held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.left.wait_while(held, |waiting| *waiting > WAITING_BYTES_MAX);
        *waited.unwrap_or_else(PoisonError::into_inner) += bytes;
        Held { waiting: Arc::clone(self), bytes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.waiting.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.waiting.left.notify_one();
    }
}

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
