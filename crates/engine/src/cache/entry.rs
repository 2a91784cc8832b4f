//! Entries of all kinds in one table: their keys, comparison and size.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use equivalent::Equivalent;
use quick_cache::{Lifecycle, Weighter};

use super::counters::Counters;
use super::kind::{CachedKind, Kind};

/// A value of any kind.
pub(super) type Value = Arc<dyn Any + Send + Sync>;

/// Bytes of an entry in addition to key and value: its slot and share of the table, and headers of two allocations.
/// Measured with 100,000 entries.
const ENTRY_BYTES: usize = 160;

/// The key of an entry of any kind. An entry is counted while its key lives.
pub(super) struct EntryKey {
    hash: u64,
    owner: u64,
    kind: Kind,
    bytes: usize,
    key: Box<dyn AnyKey>,
    counters: Arc<Counters>,
}

/// A key of some kind.
trait AnyKey: Any + Send + Sync {
    fn is_same(&self, other: &dyn Any) -> bool;
}

impl<K: Eq + Send + Sync + 'static> AnyKey for K {
    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl EntryKey {
    /// `bytes`: heap and inline size of key and value.
    pub(super) fn new<C: CachedKind>(
        hash: u64,
        owner: u64,
        key: C::Key,
        bytes: usize,
        counters: &Arc<Counters>,
    ) -> Self {
        let bytes = bytes + ENTRY_BYTES;
        counters.added(C::KIND, bytes);
        Self { hash, owner, kind: C::KIND, bytes, key: Box::new(key), counters: Arc::clone(counters) }
    }

    pub(super) fn owner(&self) -> u64 {
        self.owner
    }

    fn any(&self) -> &dyn Any {
        &*self.key
    }
}

impl Drop for EntryKey {
    fn drop(&mut self) {
        self.counters.removed(self.kind, self.bytes);
    }
}

impl Hash for EntryKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for EntryKey {
    fn eq(&self, other: &Self) -> bool {
        (self.owner, self.kind) == (other.owner, other.kind) && self.key.is_same(other.any())
    }
}

impl Eq for EntryKey {}

/// A borrowed key to look up: finding an entry allocates nothing.
pub(super) struct Lookup<'a, C, Q: ?Sized> {
    hash: u64,
    owner: u64,
    key: &'a Q,
    kind: PhantomData<C>,
}

impl<'a, C, Q: ?Sized> Lookup<'a, C, Q> {
    pub(super) fn new(hash: u64, owner: u64, key: &'a Q) -> Self {
        Self { hash, owner, key, kind: PhantomData }
    }
}

impl<C, Q: ?Sized> Hash for Lookup<'_, C, Q> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<C: CachedKind, Q: Equivalent<C::Key> + ?Sized> Equivalent<EntryKey> for Lookup<'_, C, Q> {
    fn equivalent(&self, other: &EntryKey) -> bool {
        let key = || other.any().downcast_ref::<C::Key>();
        (self.owner, C::KIND) == (other.owner, other.kind)
            && key().is_some_and(|key| self.key.equivalent(key))
    }
}

/// Passes a precomputed hash through.
#[derive(Default)]
pub(super) struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys write their hash alone");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Tells `quick_cache` the size of entries.
#[derive(Clone)]
pub(super) struct EntryBytes;

impl Weighter<EntryKey, Value> for EntryBytes {
    fn weight(&self, key: &EntryKey, _: &Value) -> u64 {
        key.bytes as u64
    }
}

/// Frees evicted entries after their shard is unlocked: some are large.
#[derive(Clone)]
pub(super) struct Evicted;

impl Lifecycle<EntryKey, Value> for Evicted {
    type RequestState = Vec<(EntryKey, Value)>;

    fn on_evict(&self, evicted: &mut Self::RequestState, key: EntryKey, value: Value) {
        evicted.push((key, value));
    }
}
