//! Keeps what was expensive to decode, within a bound of memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use super::{FieldDocs, Occurrences, PositionDocs, Prefix};

/// Decoded once per commit and shared by all its searches.
#[derive(Default)]
pub(super) struct Cache {
    /// Documents of frequent words.
    pub(super) words: Generations<Box<str>, FieldDocs>,
    /// All words with a short beginning.
    pub(super) prefixes: Generations<Box<str>, Prefix>,
    /// Positions of frequent words and of short beginnings.
    pub(super) positions: Generations<Box<str>, PositionDocs>,
    /// Places of all words with a short beginning.
    pub(super) places: Generations<Box<str>, Occurrences>,
    /// Where a word is best cut in two, as a byte offset; None where it cannot be.
    pub(super) cuts: Generations<Box<str>, Option<usize>>,
}

/// Bytes of values in one generation of one cache; there are at most two of each.
const GENERATION_BYTES_MAX: usize = 16 << 20;

/// A map that forgets what was not asked for during its last generation.
pub(super) struct Generations<K, V> {
    inner: Mutex<Inner<K, V>>,
}

struct Inner<K, V> {
    young: HashMap<K, Arc<V>>,
    old: HashMap<K, Arc<V>>,
    young_bytes: usize,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        let inner = Inner { young: HashMap::new(), old: HashMap::new(), young_bytes: 0 };
        Self { inner: Mutex::new(inner) }
    }
}

impl<K: Hash + Eq + Clone, V> Generations<K, V> {
    /// The value kept under `key`.
    pub(super) fn get(&self, key: &K, bytes: impl FnOnce(&V) -> usize) -> Option<Arc<V>> {
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(value) = inner.young.get(key) {
            return Some(Arc::clone(value));
        }
        let value = inner.old.remove(key)?;
        inner.insert(key.clone(), Arc::clone(&value), bytes(&value));
        Some(value)
    }

    /// Keeps `value`, which takes about `bytes`.
    pub(super) fn insert(&self, key: K, value: Arc<V>, bytes: usize) {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(key, value, bytes);
    }
}

impl<K: Hash + Eq, V> Inner<K, V> {
    fn insert(&mut self, key: K, value: Arc<V>, bytes: usize) {
        let bytes = bytes + ENTRY_BYTES;
        if self.young_bytes + bytes > GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if bytes <= GENERATION_BYTES_MAX {
            self.young_bytes += bytes;
            self.young.insert(key, value);
        }
    }
}

/// What an entry takes beside its value: key, hash slot, counters.
const ENTRY_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let cache: Generations<u32, u32> = Generations::default();
        let size = GENERATION_BYTES_MAX / 4;
        for key in 0..40 {
            cache.insert(key, Arc::new(key), size);
            assert_eq!(cache.get(&0, |_| size).as_deref(), Some(&0), "asked for every time");
        }
        assert!(cache.get(&5, |_| size).is_none(), "not asked for again");
        let inner = cache.inner.lock().expect("no thread panicked");
        assert!(inner.young.len() + inner.old.len() <= 8);
    }

    #[test]
    fn a_value_beyond_the_bound_is_not_kept() {
        let cache: Generations<u32, u32> = Generations::default();
        cache.insert(1, Arc::new(1), GENERATION_BYTES_MAX + 1);
        assert!(cache.get(&1, |_| 0).is_none());
    }
}
