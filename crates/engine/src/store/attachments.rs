//! Values that other modules compute about a segment or a commit, dropped together with it.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// Holds a value per type, created at the first request. The module that owns the type decides its content and memory
/// bound.
#[derive(Default)]
pub struct Attachments {
    values: Mutex<FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Attachments {
    /// The value of type `T`; the default one is created if there is none.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::downcast(Arc::clone(value)).expect("a value lies under its own type")
    }

    /// Stores a value that [`Attachments::get`] returns from then on.
    pub fn put<T: Send + Sync + 'static>(&self, value: Arc<T>) {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<T>(), value);
    }
}
