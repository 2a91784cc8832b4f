//! The cache and its owners.

use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use equivalent::Equivalent;
use foldhash::fast::RandomState;
use quick_cache::OptionsBuilder;
use rustc_hash::FxHashSet;

use super::counters::{CacheFigures, Counters};
use super::entry::{EntryBytes, EntryKey, Evicted, Lookup, Prehashed, Value};
use super::kind::{CachedKind, Kind};

/// Cached results of commits, segments and columns.
pub struct Cache {
    entries: quick_cache::sync::Cache<EntryKey, Value, EntryBytes, BuildHasherDefault<Prehashed>, Evicted>,
    bytes_max: usize,
    hashing: RandomState,
    counters: Arc<Counters>,
    owners: AtomicU64,
    /// Dropped owners whose entries may still be cached.
    gone: Mutex<FxHashSet<u64>>,
}

/// Each shard has its own lock and evicts on its own, so a value can be at most as large as a shard.
const SHARD_BYTES_MIN: usize = 64 << 20;

/// With this many shards per thread, threads hardly ever wait for each other.
const SHARDS_PER_THREAD: usize = 4;

/// Typical bytes of an entry, measured on the films. `quick_cache` remembers the keys of evicted entries, half as many
/// as entries fit.
const USUAL_ENTRY_BYTES: usize = 4 << 10;

/// Dropped owners whose entries are removed together, in one pass over all entries.
pub(super) const GONE_MAX: usize = 16;

impl Cache {
    /// `bytes_max` limits the entries including the bytes for finding them. With 0, nothing is cached.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let shards = (bytes_max / SHARD_BYTES_MIN).clamp(1, threads * SHARDS_PER_THREAD);
        let options = OptionsBuilder::new()
            .weight_capacity(bytes_max as u64)
            .estimated_items_capacity(bytes_max / USUAL_ENTRY_BYTES)
            // Rounds down to a power of two; `quick_cache` would round up.
            .shards(1 << shards.ilog2())
            .build()
            .expect("both capacities are given");
        let entries =
            quick_cache::sync::Cache::with_options(options, EntryBytes, Default::default(), Evicted);
        Arc::new(Self {
            entries,
            bytes_max,
            hashing: RandomState::default(),
            counters: Arc::default(),
            owners: AtomicU64::default(),
            gone: Mutex::default(),
        })
    }

    /// Returns a new owner without entries.
    pub fn owner(self: &Arc<Self>) -> Owner {
        Owner { cache: Arc::clone(self), id: self.owners.fetch_add(1, Ordering::Relaxed) }
    }

    /// Limit for the bytes of all entries.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Current contents, and hits and misses since the cache was made.
    pub fn figures(&self) -> CacheFigures {
        self.counters.figures(self.bytes_max)
    }

    fn hash<Q: Hash + ?Sized>(&self, owner: u64, kind: Kind, key: &Q) -> u64 {
        let mut hasher = self.hashing.build_hasher();
        (owner, kind as u8).hash(&mut hasher);
        key.hash(&mut hasher);
        hasher.finish()
    }

    /// Removes entries of dropped owners, once there are [`GONE_MAX`] such owners.
    fn forget(&self, owner: u64) {
        let gone = {
            let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            gone.insert(owner);
            if gone.len() < GONE_MAX {
                return;
            }
            std::mem::take(&mut *gone)
        };
        self.entries.retain(|key, _| !gone.contains(&key.owner()));
    }
}

/// A commit, a segment or an open column, in its role as owner of cache entries.
pub struct Owner {
    cache: Arc<Cache>,
    id: u64,
}

impl Owner {
    /// Returns the value under `key`. A borrowed key hashes like the owned one.
    pub fn get<C: CachedKind>(
        &self,
        key: &(impl Hash + Equivalent<C::Key> + ?Sized),
    ) -> Option<Arc<C::Value>> {
        let Self { cache, id } = self;
        let found = cache.entries.get(&Lookup::<C, _>::new(cache.hash(*id, C::KIND, key), *id, key));
        cache.counters.asked(C::KIND, found.is_some());
        found.map(|value| value.downcast().expect("a kind has one type of value"))
    }

    /// Stores a value under `key` and replaces an earlier one. It may be evicted at once.
    pub fn insert<C: CachedKind>(&self, key: C::Key, value: &Arc<C::Value>) {
        let Self { cache, id } = self;
        let hash = cache.hash(*id, C::KIND, &key);
        let bytes = C::bytes(&key, value) + size_of::<C::Key>() + size_of::<C::Value>();
        let key = EntryKey::new::<C>(hash, *id, key, bytes, &cache.counters);
        cache.entries.insert(key, Arc::<C::Value>::clone(value));
    }

    /// Its id, unique in the cache for all time.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The cache it belongs to.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.cache.forget(self.id);
    }
}
