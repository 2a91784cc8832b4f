//! The open indexes of an engine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::index::Index;

/// Open indexes by id. Opening a large index takes a tenth of a second or more, so each has a lock of its own: only those
/// who want the same index wait.
#[derive(Default)]
pub struct OpenIndexes(Mutex<HashMap<String, Arc<Slot>>>);

/// Place of an index, locked while it is opened. Empty if it is not open.
#[derive(Default)]
pub struct Slot(Mutex<Option<Arc<Index>>>);

impl Slot {
    /// Returns the index, and keeps others from opening or closing it.
    pub fn lock(&self) -> MutexGuard<'_, Option<Arc<Index>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenIndexes {
    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the place of an index.
    pub fn slot(&self, id: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(id) {
            return Arc::clone(slot);
        }
        Arc::clone(slots.entry(id.to_owned()).or_default())
    }

    /// Returns an index if it is open. Waits while it is opened.
    pub fn get(&self, id: &str) -> Option<Arc<Index>> {
        let slot = self.slots().get(id).cloned()?;
        slot.lock().clone()
    }

    /// Returns the index with an id, opened by `open` if necessary. An index that `stays` does not accept is opened again
    /// the next time.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn get_or_open(
        &self,
        id: &str,
        open: impl FnOnce() -> Result<Index>,
        stays: impl FnOnce(&Index) -> bool,
    ) -> Result<Arc<Index>> {
        let slot = self.slot(id);
        let mut place = slot.lock();
        if let Some(index) = &*place {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(open()?);
        if stays(&index) {
            *place = Some(Arc::clone(&index));
        }
        Ok(index)
    }

    /// Returns the open indexes with their ids, unordered, without those that are being opened.
    pub fn all(&self) -> Vec<(String, Arc<Index>)> {
        let slots = self.slots();
        let open = slots.iter().filter_map(|(id, slot)| {
            let place = slot.0.try_lock().ok()?;
            Some((id.clone(), Arc::clone(place.as_ref()?)))
        });
        open.collect()
    }

    /// Removes an index. Waits while it is opened.
    pub fn remove(&self, id: &str) -> Option<Arc<Index>> {
        let slot = self.slots().remove(id)?;
        slot.lock().take()
    }

    /// Removes all indexes. Waits for those that are being opened.
    pub fn remove_all(&self) -> Vec<Arc<Index>> {
        let slots = std::mem::take(&mut *self.slots());
        slots.into_values().filter_map(|slot| slot.lock().take()).collect()
    }
}
