//! Documents with vectors that are in no graph yet.

use std::sync::{Arc, Mutex, PoisonError};

use roaring::RoaringBitmap;

/// Documents with records from a given sequence number on, cached until another number is requested.
#[derive(Default)]
pub(super) struct Recent(Mutex<Option<(u64, Arc<RoaringBitmap>)>>);

impl Recent {
    pub(super) fn get(&self, from: u64, find: impl FnOnce() -> RoaringBitmap) -> Arc<RoaringBitmap> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cached {
            Some((known, documents)) if *known == from => Arc::clone(documents),
            _ => Arc::clone(&cached.insert((from, Arc::new(find()))).1),
        }
    }

    /// Updates the cached documents for a new record.
    pub(super) fn note(&mut self, docid: u32, embedded: bool) {
        if let Some((_, documents)) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let documents = Arc::make_mut(documents);
            if embedded {
                documents.insert(docid)
            } else {
                documents.remove(docid)
            };
        }
    }
}

impl Clone for Recent {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}
