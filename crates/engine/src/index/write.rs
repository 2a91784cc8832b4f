//! Prepares a batch and makes it the next commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use super::limits::{STAGED_MEMORY_SHARE, segment_bytes};
use super::open_index::Index;
use super::prepared::Prepared;
use crate::analysis::{analysis_version, unstamped_version};
use crate::error::{Context, Error, Result};
use crate::indexing::{
    self, Batch, BatchMonitor, BatchReport, ProgressGuard, SpillAllocator, StagedBatch, Step, WriteOptions,
};
use crate::store::{CommitRecord, Committed, IndexDirectory};
use crate::vector::{VectorPage, Vectors};

/// A batch's share of the threads for indexing. Concurrent batches of other indexes use the others.
struct ThreadShare<'a> {
    writing: &'a AtomicUsize,
    /// Number of concurrent batches when this one began, including itself.
    batches: usize,
}

impl<'a> ThreadShare<'a> {
    fn begin(writing: &'a AtomicUsize) -> Self {
        Self { writing, batches: writing.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    fn of(&self, threads: usize) -> usize {
        (threads / self.batches).max(1)
    }
}

impl Drop for ThreadShare<'_> {
    fn drop(&mut self) {
        self.writing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Index {
    /// Merges and validates a batch given as JSON; returns a ticket for [`Index::commit`]. Drops a batch that was
    /// prepared before and not committed. Once `stop` is set, ends at the next document.
    ///
    /// # Errors
    /// Internal, also if the batch was stopped. User errors are in the report of the commit, by task.
    pub fn prepare(&self, batch: &[u8], stop: Option<Arc<AtomicBool>>) -> Result<u32> {
        let batch: Batch = serde_json::from_slice(batch).context("a batch does not parse")?;
        let mut writing = self.writing();
        self.monitor.stop.store(false, Ordering::Relaxed);
        writing.prepared = None;
        let current = self.current();
        let committed = current.as_ref().and_then(|current| current.committed.as_ref());
        let prepared = match committed {
            Some(done) if done.record.report["batchUid"] == batch.uid => {
                Prepared::Committed(done.record.report.clone())
            }
            _ => {
                let mut staged = StagedBatch::new(
                    &batch,
                    committed.map(|committed| committed.snapshot.clone()),
                    BatchMonitor { call_stop: stop, ..self.monitor.clone() },
                )?
                .cutting_with(&self.services.dictionaries)
                .within(SpillAllocator::new(
                    &self.path,
                    self.limits.indexing_memory_bytes / STAGED_MEMORY_SHARE,
                ));
                let documents = batch.operations.iter().map(|task| task.operation.documents()).sum();
                let _shown = self.begin(Step::Reading, documents);
                staged.apply(batch)?;
                Prepared::StagedBatch(Box::new(staged))
            }
        };
        writing.tickets = writing.tickets.wrapping_add(1);
        writing.prepared = Some((writing.tickets, prepared));
        Ok(writing.tickets)
    }

    /// Begins a step, which is reported as progress until the guard is dropped.
    fn begin(&self, step: Step, documents: u64) -> ProgressGuard<'_> {
        self.monitor.progress.begin(step, documents);
        ProgressGuard(&self.monitor.progress)
    }

    /// Returns the progress of the current batch as JSON; `None` between steps. Does not take locks held by batches.
    ///
    /// # Errors
    /// Internal.
    pub fn progress(&self) -> Result<Option<Vec<u8>>> {
        let steps = self.monitor.progress.steps();
        let steps = steps.map(|steps| serde_json::to_vec(&steps));
        steps.transpose().context("progress cannot be written as JSON")
    }

    /// Returns the number of documents that [`Index::pending_embeddings`] will list for a prepared batch, counted once
    /// per embedder.
    ///
    /// # Errors
    /// Internal, if the ticket does not match the prepared batch.
    pub fn pending_embeddings_count(&self, ticket: u32) -> Result<u64> {
        Ok(match self.writing().get(ticket)? {
            Prepared::StagedBatch(staged) => staged.vectors.pending_count(),
            Prepared::Committed(_) => 0,
        })
    }

    /// Returns a page, as JSON, of the documents to be embedded before a prepared batch is committed; see
    /// [`StagedBatch::pending_embeddings`].
    ///
    /// # Errors
    /// Internal.
    pub fn pending_embeddings(&self, ticket: u32, from: Option<&str>) -> Result<Option<Vec<u8>>> {
        let mut writing = self.writing();
        let page = match writing.get(ticket)? {
            Prepared::StagedBatch(staged) => staged.pending_embeddings(from)?,
            Prepared::Committed(_) => None,
        };
        page.map(|page| serde_json::to_vec(&page).context("a page cannot be written as JSON")).transpose()
    }

    /// Adds vectors that were made for a prepared batch.
    ///
    /// # Errors
    /// Internal.
    pub fn add_vectors(&self, ticket: u32, vectors: &VectorPage) -> Result<()> {
        match self.writing().get(ticket)? {
            Prepared::StagedBatch(staged) => staged.vectors.add_page(vectors),
            Prepared::Committed(_) => Ok(()),
        }
    }

    /// Drops a prepared batch, if it is not committed yet.
    pub fn abandon(&self, ticket: u32) {
        // A batch being prepared or written holds the lock. It stops at the next document.
        self.monitor.stop.store(true, Ordering::Relaxed);
        let mut writing = self.writing();
        if writing.prepared.as_ref().is_some_and(|(prepared, _)| *prepared == ticket) {
            writing.prepared = None;
        }
    }

    /// Makes a prepared batch visible. A crash after the return does not undo it. Returns its [`BatchReport`] as JSON.
    ///
    /// # Errors
    /// Internal; then nothing of the batch is visible.
    pub fn commit(&self, ticket: u32) -> Result<Vec<u8>> {
        let mut writing = self.writing();
        let prepared = match writing.prepared.take() {
            Some((prepared, what)) if prepared == ticket => what,
            other => {
                writing.prepared = other;
                return Err(Error::internal("the batch cannot be committed", "it is not the prepared batch"));
            }
        };
        let report = match prepared {
            Prepared::Committed(report) => report,
            // Finds the cause of an error first: removing written files would free space on a full disk.
            Prepared::StagedBatch(staged) => {
                self.write(&staged, |error| error.or_full_disk(&self.path).or_failed_disk())?
            }
        };
        serde_json::to_vec(&report).context("a report cannot be written as JSON")
    }

    /// Removes vector logs that a crash left behind, before the first one of this process is written. Opening the index
    /// does not remove files, because its newest commit may turn out to belong to another index.
    pub(super) fn tidy(&self, newest: &Committed) {
        let faults = &self.services.faults;
        self.tidied.call_once(|| Vectors::of(&newest.snapshot).remove_stale(&self.path, faults));
    }

    fn write(&self, staged: &StagedBatch, explain: impl Fn(Error) -> Error) -> Result<Value> {
        let _shown = self.begin(Step::Indexing, 0);
        let faults = &self.services.faults;
        let current = self.current();
        let directory = match &current {
            Some(current) => Arc::clone(&current.directory),
            None => {
                let layout = self.services.layout();
                Arc::new(IndexDirectory::create(&self.path, layout, faults)?)
            }
        };
        let share = ThreadShare::begin(&self.services.writing);
        let threads = share.of(self.limits.indexing_threads);
        let options = WriteOptions {
            threads,
            memory_bytes: segment_bytes(self.limits.indexing_memory_bytes, staged.memory_bytes(), threads),
            spill: directory.spill(&self.monitor.stop),
        };
        let change = indexing::write(staged, directory.layout(), &options).map_err(&explain)?;
        drop(share);
        let report = BatchReport {
            batch_uid: staged.batch_uid,
            index_uid: Some(staged.index_uid.clone()),
            outcomes: staged.outcomes.clone(),
            primary_key: staged.primary_key.clone(),
            documents: staged.documents(),
        };
        let report = serde_json::to_value(report).context("a report cannot be written as JSON")?;
        let parts = staged.parts();
        let mut record = CommitRecord {
            report: report.clone(),
            primary_key: parts.primary_key.clone(),
            vectors: BTreeMap::new(),
            analysis: None,
            dictionaries: parts.dictionaries.clone(),
        };
        self.monitor.progress.begin(Step::Committing, 0);
        let previous = current.as_ref().and_then(|current| current.committed.as_ref());
        record.analysis = Some(match previous {
            Some(previous) if !staged.analyses_all() => {
                previous.record.analysis.clone().unwrap_or_else(unstamped_version)
            }
            _ => analysis_version(),
        });
        if let Some(previous) = previous {
            self.tidy(previous);
        }
        let fail = |error| {
            let error = explain(error);
            if let Some(previous) = previous {
                Vectors::of(&previous.snapshot).remove_stale(&self.path, faults);
            }
            error
        };
        // Vectors are written before the commit that names their files.
        let vectors = staged.vectors.write(&self.path, faults).map_err(fail)?;
        record.vectors = vectors.logs();
        let committed = directory.commit(previous, change, parts, record).map_err(fail)?;
        vectors.remove_stale(&self.path, faults);
        vectors.maintain_graphs();
        committed.snapshot.attachments().put(Arc::new(vectors));
        self.show(directory, committed);
        Ok(report)
    }
}
