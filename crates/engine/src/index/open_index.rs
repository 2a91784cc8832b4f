//! An index: its newest commit for readers, and locks for its writers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, RwLock};

use super::limits::Limits;
use super::prepared::PreparedSlot;
use crate::analysis::{Dictionaries, DictionaryIds};
use crate::background_fault::{BackgroundFaultKind, FaultReporter};
use crate::cache::Cache;
use crate::error::{Context, Error, Result};
use crate::facets::{self, SearchedFields};
use crate::indexing::{self, BatchMonitor};
use crate::settings::Settings;
use crate::store::{Committed, IndexDirectory, Layout, Snapshot};
use crate::vector::Vectors;

/// An index of an engine, with or without a commit.
pub struct Index {
    pub(super) path: PathBuf,
    pub(super) limits: Limits,
    pub(super) services: IndexServices,
    pub(super) current: RwLock<Option<Arc<Current>>>,
    /// Held while a batch is prepared or committed.
    pub(super) writing: Mutex<PreparedSlot>,
    /// Stops the batch being written, and reports its progress.
    pub(super) monitor: BatchMonitor,
    /// Held while segments are merged.
    pub(super) merging: Mutex<()>,
    /// Set when the index is closed, to stop merging its segments.
    pub(super) closed: Arc<AtomicBool>,
    /// Fields that searches have used.
    pub(super) searched: Arc<SearchedFields>,
    /// Runs once: removes vector files that a crash left behind.
    pub(super) tidied: Once,
}

/// Services that an engine provides to its indexes.
#[derive(Clone)]
pub struct IndexServices {
    /// Cache of the index, possibly shared with other indexes.
    pub cache: Arc<Cache>,
    /// Receives faults of the index's background work.
    pub faults: FaultReporter,
    /// Number of batches being written. They share the threads for indexing.
    pub writing: Arc<AtomicUsize>,
    /// Installed dictionaries.
    pub dictionaries: Dictionaries,
}

impl IndexServices {
    /// Returns the layout of the newest format with these services.
    pub(super) fn layout(&self) -> Layout {
        indexing::layout().caching_in(&self.cache).cutting_with(&self.dictionaries)
    }

    /// Reports dictionaries that cut the texts of the index at `path` and are not installed.
    pub(super) fn check_dictionaries(&self, path: &Path, recorded: &DictionaryIds) {
        let installed = self.dictionaries.ids();
        for (_, id) in recorded.iter().filter(|(language, id)| installed.get(*language) != Some(id)) {
            let reason = format!("its texts were cut with {id}, which is not installed");
            self.faults.report(BackgroundFaultKind::WordDictionary, path, reason);
        }
    }
}

/// The directory of an index and its newest commit.
pub(super) struct Current {
    pub(super) directory: Arc<IndexDirectory>,
    pub(super) committed: Option<Committed>,
}

impl Index {
    /// Opens the index of a directory, which need not exist yet, with a separate cache. Faults of its background work
    /// are dropped.
    ///
    /// # Errors
    /// See [`Index::open_with`].
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        let services = IndexServices {
            cache: Cache::new(limits.cache_bytes),
            faults: FaultReporter::default(),
            writing: Arc::default(),
            dictionaries: Dictionaries::default(),
        };
        Self::open_with(path, limits, services)
    }

    /// Opens the index of a directory, which need not exist yet, with the services of an engine.
    ///
    /// # Errors
    /// Internal, naming the path, if it cannot be listed, is damaged or was written by a newer version.
    pub fn open_with(path: &Path, limits: Limits, services: IndexServices) -> Result<Self> {
        let current = if IndexDirectory::exists(path)? {
            let layout = services.layout();
            let (directory, committed) = IndexDirectory::open(path, layout, &services.faults)?;
            if let Some(committed) = &committed {
                services.check_dictionaries(path, &committed.record.dictionaries);
                let vectors = Vectors::of_commit(path, &committed.record.vectors, &services.faults);
                committed.snapshot.attachments().put(Arc::new(vectors));
            }
            Some(Arc::new(Current { directory: Arc::new(directory), committed }))
        } else {
            None
        };
        Ok(Self::of(path, limits, services, current))
    }

    /// Creates an index with its newest commit.
    pub(super) fn of(
        path: &Path,
        limits: Limits,
        services: IndexServices,
        current: Option<Arc<Current>>,
    ) -> Self {
        let searched = Arc::<SearchedFields>::default();
        if let Some(committed) = current.as_ref().and_then(|current| current.committed.as_ref()) {
            committed.snapshot.attachments().put(Arc::clone(&searched));
        }
        Self {
            path: path.to_owned(),
            limits,
            services,
            searched,
            current: RwLock::new(current),
            writing: Mutex::default(),
            monitor: BatchMonitor::default(),
            merging: Mutex::default(),
            closed: Arc::default(),
            tidied: Once::new(),
        }
    }

    /// Returns the newest commit and its directory.
    pub(super) fn current(&self) -> Option<Arc<Current>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the newest commit for reading.
    ///
    /// # Errors
    /// `index_damaged`, if there is no commit: callers read only indexes that have a commit in the catalogue.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let current = self.current();
        let committed = current.as_ref().and_then(|current| current.committed.as_ref());
        committed.map(|committed| committed.snapshot.clone()).ok_or_else(|| self.without_commit())
    }

    /// Returns true if there is a commit.
    pub fn has_commit(&self) -> bool {
        self.current().is_some_and(|current| current.committed.is_some())
    }

    /// Makes the error for reading an index without a commit.
    pub(super) fn without_commit(&self) -> Error {
        Error::user("index_damaged", format!("{} is damaged: it has no commit", self.path.display()))
    }

    /// Locks the index for writing. Drops a batch that was prepared before a writer panicked.
    pub(super) fn writing(&self) -> MutexGuard<'_, PreparedSlot> {
        self.writing.lock().unwrap_or_else(|poisoned| {
            self.writing.clear_poison();
            let mut writing = poisoned.into_inner();
            writing.prepared = None;
            writing
        })
    }

    /// Makes a commit the newest one for readers. Builds deferred columns for the settings first; until then, readers
    /// see the previous commit.
    pub(super) fn show(&self, directory: Arc<IndexDirectory>, committed: Committed) {
        let snapshot = &committed.snapshot;
        snapshot.attachments().put(Arc::clone(&self.searched));
        facets::prepare(snapshot, &|path| indexing::wants_column(snapshot.settings(), path));
        let current = Current { directory, committed: Some(committed) };
        let before = self.current.write().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(current));
        // Drops it after releasing the lock, so that readers do not wait.
        drop(before);
    }

    /// Returns the report of the newest commit as JSON; `None` if there is no commit.
    pub fn last_commit(&self) -> Result<Option<Vec<u8>>> {
        let current = self.current();
        let committed = current.as_ref().and_then(|current| current.committed.as_ref());
        let report = committed.map(|committed| serde_json::to_vec(&committed.record.report));
        report.transpose().context("a report cannot be written as JSON")
    }

    /// Returns the settings of the newest commit as JSON; `None` if none were ever set.
    pub fn settings(&self) -> Result<Option<String>> {
        let snapshot = self.snapshot()?;
        let raw = &snapshot.settings().raw;
        Ok((!raw.is_empty()).then(|| raw.clone()))
    }

    /// Returns the cost of changing to other settings, given as JSON. The result is JSON: each changed setting that
    /// costs more than a commit without documents, with its cost.
    ///
    /// # Errors
    /// See [`Index::snapshot`]; internal, if the settings do not parse.
    pub fn settings_cost(&self, settings: &str) -> Result<Vec<u8>> {
        let costs = indexing::costs_of(self.snapshot()?.settings(), &Settings::parse(settings)?);
        serde_json::to_vec(&costs).context("costs cannot be written as JSON")
    }
}
