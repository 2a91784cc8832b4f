//! One index: its newest commit for readers, and at most one batch on its way to the next.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, RwLock};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use crate::cache::Cache;
use crate::error::{Context, Error, Result};
use crate::facets;
use crate::indexing::{
    self, Batch, BatchMonitor, BatchReport, ProgressGuard, SpillAllocator, StagedBatch, Step, WriteOptions,
};
use crate::search::{self, Answer, SearchDeadline};
use crate::store::schema::Presence;
use crate::store::{CommitRecord, Committed, IndexDirectory, Snapshot};
use crate::vector::{VectorPage, Vectors};

/// What an engine may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory that indexing may use beside mapped files, in bytes.
    pub indexing_memory_bytes: usize,
    /// Threads that indexing may use.
    pub indexing_threads: usize,
    /// What is cached for all indexes together may take so many bytes.
    pub cache_bytes: usize,
}

/// What an index takes on disk, in bytes. Shape: `IndexSizes` in `ts/engine/engine.ts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexSizes {
    /// Of stored documents.
    pub raw_document_db_size: u64,
    /// Of the directory.
    pub index_size: u64,
}

/// Numbers about an index. Shape: `IndexStats` in `ts/engine/engine.ts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStats {
    /// Documents.
    pub number_of_documents: u64,
    /// What they take.
    #[serde(flatten)]
    pub sizes: IndexSizes,
    /// Vectors.
    pub number_of_embeddings: u64,
    /// Documents with a vector.
    pub number_of_embedded_documents: u64,
    /// Top-level field → documents that have it.
    pub field_distribution: std::collections::BTreeMap<String, u64>,
}

/// One problem found by [`Index::verify`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Which file.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// An index, open or not yet written.
pub struct Index {
    path: PathBuf,
    limits: Limits,
    cache: Arc<Cache>,
    current: RwLock<Option<Arc<Current>>>,
    writing: Mutex<Writing>,
    /// Stops the batch being written, and shows its progress.
    monitor: BatchMonitor,
    /// Held while segments are merged.
    merging: Mutex<()>,
    /// The index is not to be merged any more.
    closed: Arc<AtomicBool>,
    /// Vectors that a crash left behind are removed.
    tidied: Once,
}

/// The newest commit.
struct Current {
    directory: Arc<IndexDirectory>,
    committed: Option<Committed>,
}

#[derive(Default)]
struct Writing {
    prepared: Option<(u32, Prepared)>,
    tickets: u32,
}

impl Writing {
    fn get(&mut self, ticket: u32) -> Result<&mut Prepared> {
        match &mut self.prepared {
            Some((prepared, what)) if *prepared == ticket => Ok(what),
            _ => Err(Error::internal("the batch cannot be gone on with", "it is not the one prepared")),
        }
    }
}

enum Prepared {
    StagedBatch(Box<StagedBatch>),
    /// The newest commit is already this batch: it was applied before a crash.
    Done(Value),
}

impl Index {
    /// Opens the index of a directory, which need not exist yet, with a cache of its own.
    ///
    /// # Errors
    /// Those of [`Index::open_caching_in`].
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        Self::open_caching_in(Cache::new(limits.cache_bytes), path, limits)
    }

    /// Opens the index of a directory, which need not exist yet, with a cache that it shares with others.
    ///
    /// # Errors
    /// Internal, naming the path, if it is damaged or written by a newer version.
    pub fn open_caching_in(cache: Arc<Cache>, path: &Path, limits: Limits) -> Result<Self> {
        let current = if IndexDirectory::exists(path) {
            let layout = indexing::layout().caching_in(&cache);
            let (directory, committed) = IndexDirectory::open(path, layout)?;
            if let Some(committed) = &committed {
                let vectors = Vectors::of_commit(path, &committed.record.vectors);
                committed.snapshot.attachments().put(Arc::new(vectors));
            }
            Some(Arc::new(Current { directory: Arc::new(directory), committed }))
        } else {
            None
        };
        Ok(Self {
            path: path.to_owned(),
            limits,
            cache,
            current: RwLock::new(current),
            writing: Mutex::default(),
            monitor: BatchMonitor::default(),
            merging: Mutex::default(),
            closed: Arc::default(),
            tidied: Once::new(),
        })
    }

    fn current(&self) -> Option<Arc<Current>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest commit, for reading.
    ///
    /// # Errors
    /// `index_damaged` if there is none: a catalogue says otherwise, or it would not be asked for.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let current = self.current();
        let committed = current.as_ref().and_then(|current| current.committed.as_ref());
        committed.map(|committed| committed.snapshot.clone()).ok_or_else(|| {
            Error::user("index_damaged", format!("{} is damaged: it has no commit", self.path.display()))
        })
    }

    /// After a panic while writing, what it left half done is forgotten.
    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(|poisoned| {
            self.writing.clear_poison();
            let mut writing = poisoned.into_inner();
            writing.prepared = None;
            writing
        })
    }

    /// Merges and validates a batch given as JSON; gives a ticket for [`Index::commit`]. A batch prepared
    /// before and not committed is forgotten. Once `stop` is set, it ends at the next document.
    ///
    /// # Errors
    /// Internal only, that it was stopped among them: mistakes of users come out of the commit, task by task.
    pub fn prepare(&self, batch: &[u8], stop: Option<Arc<AtomicBool>>) -> Result<u32> {
        let batch: Batch = serde_json::from_slice(batch).context("a batch does not parse")?;
        let mut writing = self.writing();
        self.monitor.stop.store(false, Ordering::Relaxed);
        writing.prepared = None;
        let current = self.current();
        let committed = current.as_ref().and_then(|current| current.committed.as_ref());
        let prepared = match committed {
            Some(done) if done.record.report["batchUid"] == batch.uid => {
                Prepared::Done(done.record.report.clone())
            }
            _ => {
                let mut staged = StagedBatch::new(
                    &batch,
                    committed.map(|committed| committed.snapshot.clone()),
                    BatchMonitor { call_stop: stop, ..self.monitor.clone() },
                )?
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

    /// Begins a step of writing, which is shown until the outcome is dropped.
    fn begin(&self, step: Step, documents: u64) -> ProgressGuard<'_> {
        self.monitor.progress.begin(step, documents);
        ProgressGuard(&self.monitor.progress)
    }

    /// How far the batch under way has come, as JSON; None if no step of it is being done. Takes no lock that a
    /// batch holds.
    ///
    /// # Errors
    /// Internal.
    pub fn progress(&self) -> Result<Option<Vec<u8>>> {
        let levels = self.monitor.progress.levels();
        let levels = levels.map(|levels| serde_json::to_vec(&levels));
        levels.transpose().context("progress cannot be written as JSON")
    }

    /// Documents that [`Index::work`] will name for a prepared batch, once for each embedder.
    ///
    /// # Errors
    /// Internal, if it is not the one prepared.
    pub fn work_count(&self, ticket: u32) -> Result<u64> {
        Ok(match self.writing().get(ticket)? {
            Prepared::StagedBatch(staged) => staged.vectors.pending_count(),
            Prepared::Done(_) => 0,
        })
    }

    /// What has to be embedded before a prepared batch is committed, a page as JSON; see [`StagedBatch::pending_embeddings`].
    ///
    /// # Errors
    /// Internal.
    pub fn work(&self, ticket: u32, from: Option<&str>) -> Result<Option<Vec<u8>>> {
        let mut writing = self.writing();
        let page = match writing.get(ticket)? {
            Prepared::StagedBatch(staged) => staged.pending_embeddings(from)?,
            Prepared::Done(_) => None,
        };
        page.map(|page| serde_json::to_vec(&page).context("a page cannot be written as JSON")).transpose()
    }

    /// Adds vectors that were made for a prepared batch.
    ///
    /// # Errors
    /// Internal.
    pub fn fulfil(&self, ticket: u32, vectors: &VectorPage) -> Result<()> {
        match self.writing().get(ticket)? {
            Prepared::StagedBatch(staged) => staged.vectors.add_page(vectors),
            Prepared::Done(_) => Ok(()),
        }
    }

    /// Forgets a prepared batch, if it is still there.
    pub fn abandon(&self, ticket: u32) {
        // A batch being prepared or written holds the lock: it stops at the next document.
        self.monitor.stop.store(true, Ordering::Relaxed);
        let mut writing = self.writing();
        if writing.prepared.as_ref().is_some_and(|(prepared, _)| *prepared == ticket) {
            writing.prepared = None;
        }
    }

    /// Makes a prepared batch visible; once it returns, a crash does not undo it. Gives its
    /// [`BatchReport`] as JSON.
    ///
    /// # Errors
    /// Internal; then nothing of the batch is visible.
    pub fn commit(&self, ticket: u32) -> Result<Vec<u8>> {
        let mut writing = self.writing();
        let prepared = match writing.prepared.take() {
            Some((prepared, what)) if prepared == ticket => what,
            other => {
                writing.prepared = other;
                return Err(Error::internal("the batch cannot be committed", "it is not the one prepared"));
            }
        };
        let report = match prepared {
            Prepared::Done(report) => report,
            // Asked while what was written is still there: undoing it makes room again.
            Prepared::StagedBatch(staged) => {
                self.write(&staged, |error| error.or_full_disk(&self.path).or_failed_disk())?
            }
        };
        serde_json::to_vec(&report).context("a report cannot be written as JSON")
    }

    fn write(&self, staged: &StagedBatch, explain: impl Fn(Error) -> Error) -> Result<Value> {
        let _shown = self.begin(Step::Indexing, 0);
        let current = self.current();
        let directory = match &current {
            Some(current) => Arc::clone(&current.directory),
            None => {
                let layout = indexing::layout().caching_in(&self.cache);
                Arc::new(IndexDirectory::create(&self.path, layout)?)
            }
        };
        let threads = self.limits.indexing_threads.max(1);
        let options = WriteOptions {
            threads,
            memory_bytes: segment_bytes(self.limits.indexing_memory_bytes, staged.memory_bytes(), threads),
            spill: directory.spill(&self.monitor.stop),
        };
        let change = indexing::write(staged, directory.layout(), &options).map_err(&explain)?;
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
        };
        self.monitor.progress.begin(Step::Committing, 0);
        let previous = current.as_ref().and_then(|current| current.committed.as_ref());
        if let Some(previous) = previous {
            // Not when the index is opened: its newest commit may turn out to be that of another index.
            self.tidied.call_once(|| Vectors::of(&previous.snapshot).remove_stale(&self.path));
        }
        // Vectors lie on the disk before the commit names them.
        let vectors = staged.vectors.write(&self.path).map_err(&explain)?;
        record.vectors = vectors.logs();
        let committed = match directory.commit(previous, change, parts, record) {
            Ok(committed) => committed,
            Err(error) => {
                let error = explain(error);
                if let Some(previous) = previous {
                    Vectors::of(&previous.snapshot).remove_stale(&self.path);
                }
                return Err(error);
            }
        };
        vectors.remove_stale(&self.path);
        vectors.tend();
        committed.snapshot.attachments().put(Arc::new(vectors));
        self.show(directory, committed);
        Ok(report)
    }

    /// Makes a commit the newest one for readers. Until columns they will need are there, they go on over the
    /// commit before.
    fn show(&self, directory: Arc<IndexDirectory>, committed: Committed) {
        let snapshot = &committed.snapshot;
        facets::prepare(snapshot, &|path| indexing::wants_column(snapshot.settings(), path));
        let current = Current { directory, committed: Some(committed) };
        let before = self.current.write().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(current));
        // Freed after the lock was given back: readers need not wait for that.
        drop(before);
    }

    /// Merges segments, if there are too many, and makes that visible; says whether there may be more to
    /// do. Batches can be prepared and searches answered meanwhile.
    ///
    /// # Errors
    /// Internal; then everything is as before.
    pub fn merge(&self) -> Result<bool> {
        let _only = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(current) = self.current() else { return Ok(false) };
        let Some(committed) = &current.committed else { return Ok(false) };
        if self.closed.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(merge) = current.directory.merge(committed, &self.closed)? else { return Ok(false) };
        let _writing = self.writing();
        let Some(newest) = self.current() else { return Ok(false) };
        let Some(committed) = &newest.committed else { return Ok(false) };
        if self.closed.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let vectors = Vectors::of(&committed.snapshot);
        if let Some(committed) = newest.directory.commit_merge(committed, merge)? {
            // By docid, so they are the same.
            committed.snapshot.attachments().put(vectors);
            self.show(Arc::clone(&newest.directory), committed);
        }
        Ok(true)
    }

    /// Stops what goes on in the background. Readers keep what they have.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        drop(self.merging.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(Committed { snapshot, .. }) = self.current().as_ref().and_then(|it| it.committed.as_ref())
        {
            Vectors::of(snapshot).stop();
        }
    }

    /// The report inside the newest commit as JSON; None if there is no commit.
    pub fn last_commit(&self) -> Result<Option<Vec<u8>>> {
        let current = self.current();
        let committed = current.as_ref().and_then(|current| current.committed.as_ref());
        let report = committed.map(|committed| serde_json::to_vec(&committed.record.report));
        report.transpose().context("a report cannot be written as JSON")
    }

    /// The settings of the newest commit as JSON; None if none were ever set.
    pub fn settings(&self) -> Result<Option<String>> {
        let snapshot = self.snapshot()?;
        let raw = &snapshot.settings().raw;
        Ok((!raw.is_empty()).then(|| raw.clone()))
    }

    /// Answers a `SearchRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::run`].
    pub fn search(&self, request: &[u8], search_deadline: impl Into<SearchDeadline>) -> Result<Answer> {
        search::run(&self.snapshot()?, request, search_deadline)
    }

    /// Answers a `FacetSearchRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::facet_search`].
    pub fn facet_search(&self, request: &[u8], search_deadline: impl Into<SearchDeadline>) -> Result<Answer> {
        search::facet_search(&self.snapshot()?, request, search_deadline)
    }

    /// Answers a `SimilarRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::similar`].
    pub fn similar(&self, request: &[u8], started: Instant) -> Result<Answer> {
        search::similar(&self.snapshot()?, request, started)
    }

    /// Lists documents: a `DocumentsRequest` given as JSON.
    ///
    /// # Errors
    /// See [`search::documents`].
    pub fn documents(&self, request: &[u8]) -> Result<Vec<u8>> {
        search::documents(&self.snapshot()?, request)
    }

    /// One document: a `DocumentRequest` given as JSON. None if there is none.
    ///
    /// # Errors
    /// Internal only.
    pub fn document(&self, request: &[u8]) -> Result<Option<Vec<u8>>> {
        search::document(&self.snapshot()?, request)
    }

    /// Numbers about the newest commit.
    pub fn stats(&self) -> Result<IndexStats> {
        let snapshot = self.snapshot()?;
        let vectors = Vectors::of(&snapshot);
        let (number_of_embeddings, number_of_embedded_documents) = vectors.counts()?;
        Ok(IndexStats {
            number_of_documents: snapshot.documents().len(),
            sizes: self.sizes()?,
            number_of_embeddings,
            number_of_embedded_documents,
            field_distribution: snapshot.presence_counts(Presence::TopLevel)?,
        })
    }

    /// Bytes of the newest commit.
    pub fn sizes(&self) -> Result<IndexSizes> {
        let (directory, raw_document_db_size) = match self.current().as_deref() {
            Some(Current { directory, committed: Some(committed) }) => directory.sizes(committed)?,
            _ => (0, 0),
        };
        Ok(IndexSizes { raw_document_db_size, index_size: directory + Vectors::bytes_below(&self.path) })
    }

    /// Names of all fields of all documents, dotted paths included, sorted.
    pub fn fields(&self) -> Result<Vec<String>> {
        Ok(self.snapshot()?.presence_counts(Presence::Exists)?.into_keys().collect())
    }

    /// Copies the newest commit to a directory, which must not exist.
    pub fn copy_to(&self, target: &Path) -> Result<()> {
        match self.current().as_deref() {
            Some(Current { directory, committed: Some(committed) }) => {
                directory.copy_to(committed, target)?;
                Vectors::of(&committed.snapshot).copy_to(target)
            }
            _ => {
                Err(Error::internal(format!("{} cannot be copied", self.path.display()), "nothing is there"))
            }
        }
    }

    /// Reads everything and reports what does not decode.
    pub fn verify(&self) -> Result<Vec<Damage>> {
        let Some(current) = self.current() else { return Ok(Vec::new()) };
        let Some(committed) = &current.committed else { return Ok(Vec::new()) };
        let damages = current.directory.damages(committed).into_iter();
        let mut damages: Vec<Damage> = damages.map(|(path, reason)| Damage { path, reason }).collect();
        if !damages.is_empty() {
            // What lies in damaged files need not decode, and would only repeat it.
            return Ok(damages);
        }
        for (path, reason) in Vectors::of(&committed.snapshot).damages() {
            damages.push(Damage { path: path.display().to_string(), reason });
        }
        for docid in committed.snapshot.documents() {
            if let Err(error) = committed.snapshot.document(docid) {
                let reason = format!("document {docid}: {error}");
                damages.push(Damage { path: self.path.display().to_string(), reason });
            }
        }
        Ok(damages)
    }
}

/// Memory for segments being built: what the staged batch leaves over, in bytes.
fn segment_bytes(indexing_bytes: usize, draft_bytes: usize, threads: usize) -> usize {
    let share = indexing_bytes.saturating_sub(draft_bytes) / SEGMENT_MEMORY_SHARE;
    share.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX * threads)
}

/// Tables of a staged batch get this part of the memory for indexing; what they take beyond it lies in files.
const STAGED_MEMORY_SHARE: usize = 4;

/// Segments being built get this part of the memory for indexing; the rest is for writing out what was built,
/// and for the merge that may run beside it.
const SEGMENT_MEMORY_SHARE: usize = 4;

/// With less than this, segments would hardly be worth their files, in bytes.
const SEGMENT_BYTES_MIN: usize = 4_000_000;

/// More than this makes fewer segments but no faster ones, in bytes.
const SEGMENT_BYTES_MAX: usize = 100_000_000;
