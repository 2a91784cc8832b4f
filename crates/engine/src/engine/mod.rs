//! All indexes of a directory.

mod open_indexes;
mod remembered;
mod search_record;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fs4::fs_std::FileExt as _;

use crate::analysis::Dictionaries;
use crate::background_fault::FaultReporter;
use crate::cache::{Cache, CacheFigures};
use crate::error::{Context, Error, Result};
use crate::filter::{self, Indexes};
use crate::index::{self, Damage, Index, IndexServices, Limits, PinnedIndex, Rescued};
use crate::indexing::{self, Payload, PayloadReport};
use crate::search::{self, Answer, IndexedSearch, SearchDeadline};
use crate::store::{IndexDirectory, Snapshot};
use open_indexes::OpenIndexes;
use search_record::SearchRecord;

/// Manages indexes, one directory each. At most one engine per process and directory.
pub struct Engine {
    directory: PathBuf,
    limits: Limits,
    cache: Arc<Cache>,
    faults: FaultReporter,
    dictionaries: Dictionaries,
    /// True if another process writes the files of the indexes.
    follows_files: bool,
    indexes: OpenIndexes,
    pins: Mutex<Pins>,
    /// Number of batches being written. They share the indexing threads.
    writing: Arc<AtomicUsize>,
    /// Locked while this engine may write: two engines would overwrite each other's commits.
    lock: Mutex<Option<File>>,
    /// Fields that searches of earlier processes used.
    searched: SearchRecord,
    /// Set when the engine is closed, to stop the warm-up of its indexes.
    closed: AtomicBool,
}

/// Commits pinned for reading, by number.
#[derive(Default)]
struct Pins {
    last: u32,
    held: HashMap<u32, Arc<PinnedIndex>>,
}

/// Name of the lock file. The file is empty and never removed.
const LOCK: &str = "lock";

impl Engine {
    /// Opens a directory of indexes, or creates it. Indexes are opened on first use. If earlier texts needed slow
    /// dictionaries, these are read in the background. Faults of background work are reported to `faults`.
    pub fn open(directory: &Path, limits: Limits, faults: FaultReporter) -> Result<Self> {
        fs::create_dir_all(directory).context(format!("{} could not be created", directory.display()))?;
        remembered::read_ahead(directory, &faults);
        Ok(Self {
            directory: directory.to_owned(),
            limits,
            cache: Cache::new(limits.cache_bytes),
            faults,
            dictionaries: Dictionaries::default(),
            follows_files: false,
            indexes: OpenIndexes::default(),
            pins: Mutex::default(),
            writing: Arc::default(),
            lock: Mutex::default(),
            searched: SearchRecord::read(directory),
            closed: AtomicBool::new(false),
        })
    }

    /// Opens a directory of indexes whose files another process writes. Only [`Engine::drop_index`] writes there.
    /// [`Engine::adopt`] makes new commits visible.
    pub fn follow(directory: &Path, limits: Limits, faults: FaultReporter) -> Result<Self> {
        Ok(Self { follows_files: true, ..Self::open(directory, limits, faults)? })
    }

    /// Sets the dictionaries that cut texts. Call it before indexes are used.
    ///
    /// # Errors
    /// See [`Dictionaries::open`].
    pub fn cutting_with(self, dictionaries: &[PathBuf]) -> Result<Self> {
        Ok(Self { dictionaries: Dictionaries::open(dictionaries)?, ..self })
    }

    /// Returns the index with an id, opened if necessary.
    ///
    /// # Errors
    /// `index_damaged` if its files cannot be decoded; internal if `id` is not valid.
    pub fn index(&self, id: &str) -> Result<Arc<Index>> {
        let path = self.path_of(id)?;
        let open = || {
            let services = IndexServices {
                cache: Arc::clone(&self.cache),
                faults: self.faults.of_index(id),
                writing: Arc::clone(&self.writing),
                dictionaries: self.dictionaries.clone(),
            };
            let open = if self.follows_files { Index::follow } else { Index::open_with };
            let index = decoded(&path, || open(&path, self.limits, services))?;
            if let Some(uses) = self.searched.uses_of(id) {
                index.expect_searches(&uses);
            }
            Ok(index)
        };
        // An index without a commit is opened again later, when its files have arrived.
        self.indexes.get_or_open(id, open, |index| !self.follows_files || index.has_commit())
    }

    /// Like [`Engine::index`], for writing. Locks the directory against other writing processes.
    ///
    /// # Errors
    /// Same as [`Engine::index`], and internal if another process writes there.
    pub fn index_to_write(&self, id: &str) -> Result<Arc<Index>> {
        self.lock_for_writing()?;
        self.index(id)
    }

    /// Makes the newest commit in the directory of an index visible. Running searches continue with their commit; none
    /// waits. Does nothing if the index is not open. After it returns, only files of the newest commit are needed.
    ///
    /// # Errors
    /// `index_damaged` if the newest commit cannot be decoded; the previous one stays visible then. Internal if this
    /// engine writes the files itself.
    pub fn adopt(&self, id: &str) -> Result<()> {
        if !self.follows_files {
            return Err(Error::internal("a commit cannot be adopted", "this engine writes the files itself"));
        }
        let path = self.path_of(id)?;
        self.indexes.get(id).map_or(Ok(()), |index| decoded(&path, || index.adopt()))
    }

    /// Removes the newest commits of an index that is not open, as long as they belong to these batches. The removal is
    /// durable once it returns.
    ///
    /// # Errors
    /// `index_damaged` if the newest commit cannot be decoded. Internal if another process writes to the directory, or
    /// the index is open.
    pub fn undo(&self, id: &str, batch_uids: &BTreeSet<u64>) -> Result<()> {
        self.lock_for_writing()?;
        let path = self.path_of(id)?;
        let slot = self.indexes.slot(id);
        let place = slot.lock();
        if place.is_some() {
            return Err(Error::internal("commits cannot be taken back", format!("{id} is open")));
        }
        IndexDirectory::undo(&path, batch_uids).map_err(Error::or_damaged)
    }

    fn lock_for_writing(&self) -> Result<()> {
        if self.follows_files {
            let reason = "another process writes its files";
            return Err(Error::internal(format!("{} is not written to", self.directory.display()), reason));
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            let path = self.directory.join(LOCK);
            let file = File::options().create(true).truncate(false).write(true).open(&path);
            let file = file.context(format!("{} could not be opened", path.display()))?;
            if !file.try_lock_exclusive().context(format!("{} could not be locked", path.display()))? {
                let reason = "another process writes to it";
                return Err(Error::internal(format!("{} is locked", path.display()), reason));
            }
            *lock = Some(file);
        }
        Ok(())
    }

    /// Merges segments of an index, see [`Index::merge_in_background`]. Does nothing if the index is not open.
    pub fn merge_in_background(&self, id: &str) {
        if let Some(index) = self.indexes.get(id) {
            index.merge_in_background();
        }
    }

    /// Prepares an index for its next search, see [`Index::warm_up`]. Does nothing if the index is not open.
    pub fn warm_up(&self, id: &str) {
        if let Some(index) = self.indexes.get(id) {
            index.warm_up();
        }
    }

    /// Ids are UUIDs. Other characters, which could lead out of the directory, are rejected.
    fn path_of(&self, id: &str) -> Result<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if id.is_empty() || !id.bytes().all(plain) {
            return Err(Error::internal("an index cannot be opened", format!("{id:?} is not an index id")));
        }
        Ok(self.directory.join(id))
    }

    /// Returns format, count and first error of a spooled body.
    pub fn inspect(&self, payload: &[u8]) -> Result<PayloadReport> {
        let payload: Payload = serde_json::from_slice(payload).context("a payload does not parse")?;
        indexing::inspect(&payload)
    }

    /// Checks that a filter parses, independent of any index. `request` is a `FilterCheck` as JSON.
    ///
    /// # Errors
    /// `invalid_search_filter`; `feature_not_enabled` if it needs a disabled feature.
    pub fn check_filter(&self, request: &[u8]) -> Result<()> {
        filter::check(request)
    }

    /// Runs several searches, given as index ids with `SearchRequest`s as JSON: separately, or merged as configured by
    /// `federation` (`FederationRequest` as JSON). Searches of the same index see the same commit.
    ///
    /// # Errors
    /// Same as the first search that fails, with its position.
    pub fn multi_search(
        &self,
        searches: Vec<(String, Vec<u8>)>,
        federation: Option<&[u8]>,
        search_deadline: &SearchDeadline,
    ) -> Result<Answer> {
        let mut snapshots: HashMap<String, Snapshot> = HashMap::new();
        let mut indexed = Vec::with_capacity(searches.len());
        for (index, request) in searches {
            let snapshot = match snapshots.get(&index) {
                Some(snapshot) => snapshot.clone(),
                None => self.index(&index)?.snapshot()?,
            };
            snapshots.insert(index.clone(), snapshot.clone());
            indexed.push(IndexedSearch { index, snapshot, request });
        }
        match federation {
            Some(federation) => search::federated_search(&indexed, federation, search_deadline, self),
            None => search::multi_search(&indexed, search_deadline, self),
        }
    }

    /// Answers a `SearchRequest` given as JSON.
    ///
    /// # Errors
    /// See [`search::run`].
    pub fn search(&self, id: &str, request: &[u8], search_deadline: SearchDeadline) -> Result<Answer> {
        search::run(&self.newest(id)?, request, search_deadline, self)
    }

    /// Answers an `ExplainRequest` given as JSON; `None` if the document does not exist.
    ///
    /// # Errors
    /// See [`search::explain`].
    pub fn explain(
        &self,
        id: &str,
        request: &[u8],
        search_deadline: SearchDeadline,
    ) -> Result<Option<Vec<u8>>> {
        search::explain(&self.newest(id)?, request, search_deadline, self)
    }

    /// Answers a `FacetSearchRequest` given as JSON.
    ///
    /// # Errors
    /// See [`search::facet_search`].
    pub fn facet_search(&self, id: &str, request: &[u8], search_deadline: SearchDeadline) -> Result<Answer> {
        search::facet_search(&self.newest(id)?, request, search_deadline, self)
    }

    /// Answers a `SimilarRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::similar`].
    pub fn similar(&self, id: &str, request: &[u8], started: Instant) -> Result<Answer> {
        search::similar(&self.newest(id)?, request, started, self)
    }

    /// Lists documents: a `DocumentsRequest` given as JSON.
    ///
    /// # Errors
    /// See [`search::documents`].
    pub fn documents(&self, id: &str, request: &[u8]) -> Result<Vec<u8>> {
        search::documents(&self.newest(id)?, request, self)
    }

    /// Pins the newest commit of an index for reading. Returns a number for [`Engine::unpin`].
    ///
    /// # Errors
    /// Same as [`Index::pin`].
    pub fn pin(&self, id: &str) -> Result<u32> {
        let pinned = Arc::new(self.index(id)?.pin()?);
        let mut pins = self.pins();
        pins.last += 1;
        let number = pins.last;
        pins.held.insert(number, pinned);
        Ok(number)
    }

    /// Returns the commit pinned under a number.
    ///
    /// # Errors
    /// Internal, if it is not pinned.
    pub fn pinned(&self, number: u32) -> Result<Arc<PinnedIndex>> {
        let pinned = self.pins().held.get(&number).cloned();
        pinned.ok_or_else(|| {
            Error::internal("a pinned commit cannot be read", format!("pin {number} is not held"))
        })
    }

    /// Unpins a commit; does nothing if it is not pinned.
    pub fn unpin(&self, number: u32) {
        let pinned = self.pins().held.remove(&number);
        // Dropped after the lock is released, because it removes files that no other commit uses.
        drop(pinned);
    }

    fn pins(&self) -> MutexGuard<'_, Pins> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns figures of the cache for all indexes.
    pub fn cache_figures(&self) -> CacheFigures {
        self.cache.figures()
    }

    /// Lists all files of an index that cannot be decoded; see [`Index::verify`].
    ///
    /// # Errors
    /// Internal.
    pub fn verify(&self, id: &str) -> Result<Vec<Damage>> {
        match self.index(id) {
            Ok(index) => index.verify(),
            Err(Error::User(error)) => {
                Ok(vec![Damage { path: self.path_of(id)?.display().to_string(), reason: error.message }])
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the readable documents of an index, which may be damaged, to a new file `target`.
    ///
    /// # Errors
    /// Same as [`index::rescue`].
    pub fn rescue(&self, id: &str, target: &Path) -> Result<Rescued> {
        index::rescue(&self.path_of(id)?, target)
    }

    /// Closes an index and removes its directory; does nothing if it does not exist.
    pub fn drop_index(&self, id: &str) -> Result<()> {
        let path = self.path_of(id)?;
        if let Some(index) = self.indexes.remove(id) {
            index.close();
            index.hold_vectors();
        }
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::internal(format!("{} could not be removed", path.display()), error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the ids of all index directories, unordered.
    pub fn list(&self) -> Result<Vec<String>> {
        let context = || format!("{} could not be listed", self.directory.display());
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.directory).context(context())? {
            let entry = entry.context(context())?;
            if entry.path().is_dir()
                && let Ok(name) = entry.file_name().into_string()
            {
                ids.push(name);
            }
        }
        Ok(ids)
    }

    /// Closes all indexes and unpins all commits. Running searches keep their data. Records fields that searches have used,
    /// unless another process writes to the directory.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        if self.changed_searches().is_some() && self.lock_for_writing().is_ok() {
            self.remember();
        }
        for index in self.indexes.remove_all() {
            index.close();
        }
        self.pins().held.clear();
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Indexes for Engine {
    fn newest(&self, id: &str) -> Result<Snapshot> {
        self.index(id)?.snapshot()
    }
}

/// Runs `open` on files in `path`. Other crates may panic on damaged bytes.
///
/// # Errors
/// `index_damaged` if they cannot be decoded.
fn decoded<T>(path: &Path, open: impl FnOnce() -> Result<T>) -> Result<T> {
    let opened = catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| {
        Err(Error::internal(format!("{} could not be opened", path.display()), "it does not decode"))
    });
    opened.map_err(Error::or_damaged)
}
