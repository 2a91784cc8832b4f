//! A cache of two generations within a bound of bytes: entries not asked for during one generation are dropped.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

/// A cache that drops entries which were not asked for during its last generation.
pub(crate) struct GenerationCache<K, V: ?Sized> {
    inner: Mutex<Inner<K, V>>,
}

struct Inner<K, V: ?Sized> {
    young: HashMap<K, Entry<V>, RandomState>,
    old: HashMap<K, Entry<V>, RandomState>,
    young_bytes: usize,
}

struct Entry<V: ?Sized> {
    value: Arc<V>,
    bytes: usize,
}

impl<K, V: ?Sized> Default for GenerationCache<K, V> {
    fn default() -> Self {
        let inner = Inner { young: HashMap::default(), old: HashMap::default(), young_bytes: 0 };
        Self { inner: Mutex::new(inner) }
    }
}

impl<K: Hash + Eq, V: ?Sized> GenerationCache<K, V> {
    fn inner(&self) -> MutexGuard<'_, Inner<K, V>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value kept under `key`.
    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut inner = self.inner();
        if let Some(entry) = inner.young.get(key) {
            return Some(Arc::clone(&entry.value));
        }
        let (key, entry) = inner.old.remove_entry(key)?;
        let value = Arc::clone(&entry.value);
        inner.young_bytes += entry.bytes;
        inner.young.insert(key, entry);
        Some(value)
    }

    /// Keeps `value`, which takes about `bytes`, where a generation may take `bytes_max`.
    pub(crate) fn insert(&self, key: K, value: Arc<V>, bytes: usize, bytes_max: usize) {
        let bytes = bytes + ENTRY_BYTES;
        let mut inner = self.inner();
        if inner.young_bytes + bytes > bytes_max {
            inner.old = std::mem::take(&mut inner.young);
            inner.young_bytes = 0;
        }
        if bytes <= bytes_max {
            inner.young_bytes += bytes;
            inner.young.insert(key, Entry { value, bytes });
        }
    }
}

impl<K: Hash + Eq + Clone> GenerationCache<K, AtomicU64> {
    /// Adds to the number kept under `key` and returns it: how often something was done lately, or for how much.
    pub(crate) fn count(&self, key: &K, more: u64) -> u64 {
        let count = self.get(key).unwrap_or_else(|| {
            let count = Arc::default();
            self.insert(key.clone(), Arc::clone(&count), size_of::<AtomicU64>(), COUNTS_BYTES_MAX);
            count
        });
        count.fetch_add(more, Ordering::Relaxed) + more
    }
}

/// Bytes of a generation of counts: some thousands of them.
const COUNTS_BYTES_MAX: usize = 1 << 20;

/// What an entry takes beside its value: key, hash slot, counters.
const ENTRY_BYTES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: usize = 1 << 20;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let cache: GenerationCache<u32, u32> = GenerationCache::default();
        for key in 0..40 {
            cache.insert(key, Arc::new(key), BYTES_MAX / 4, BYTES_MAX);
            assert_eq!(cache.get(&0).as_deref(), Some(&0), "asked for every time");
        }
        assert!(cache.get(&5).is_none(), "not asked for again");
        let inner = cache.inner.lock().expect("no thread panicked");
        assert!(inner.young.len() + inner.old.len() <= 8);
    }

    #[test]
    fn a_value_beyond_the_bound_is_not_kept() {
        let cache: GenerationCache<u32, u32> = GenerationCache::default();
        cache.insert(1, Arc::new(1), BYTES_MAX + 1, BYTES_MAX);
        assert!(cache.get(&1).is_none());
    }
}
