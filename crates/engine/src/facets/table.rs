//! A table of a column, cached or built on first use.

use std::sync::{Arc, OnceLock};

use crate::cache::{CachedKind, Owner};
use crate::error::Result;

/// A table of a column, held until the search ends: from the cache, or built on first use.
pub(super) struct Table<C: CachedKind<Key = ()>>(OnceLock<Arc<C::Value>>);

impl<C: CachedKind<Key = ()>> Default for Table<C> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<C: CachedKind<Key = ()>> Table<C> {
    /// Returns the table, if this search has used it or it is cached.
    pub fn known(&self, cache: &Owner) -> Option<&C::Value> {
        if self.0.get().is_none()
            && let Some(cached) = cache.get::<C>(&())
        {
            return Some(self.0.get_or_init(|| cached));
        }
        self.0.get().map(|table| &**table)
    }

    /// Returns the table, built by `build` if it is not known.
    pub fn get(&self, cache: &Owner, build: impl FnOnce() -> C::Value) -> &C::Value {
        match self.known(cache) {
            Some(known) => known,
            None => self.0.get_or_init(|| {
                let built = Arc::new(build());
                cache.insert::<C>((), &built);
                built
            }),
        }
    }

    /// Like [`get`](Self::get), with a `build` that may fail.
    pub fn get_or_fail(&self, cache: &Owner, build: impl FnOnce() -> Result<C::Value>) -> Result<&C::Value> {
        if let Some(known) = self.known(cache) {
            return Ok(known);
        }
        let built = build()?;
        Ok(self.get(cache, || built))
    }
}
