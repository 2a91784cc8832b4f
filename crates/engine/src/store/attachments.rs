//! What other rooms work out about a segment or a commit, kept as long as it is.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// One value per type, made when first asked for. What is kept is the asking room's business, and so
/// is its bound.
#[derive(Default)]
pub struct Attachments {
    values: Mutex<FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Attachments {
    /// The value of type `T`, made now if there is none.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::downcast(Arc::clone(value)).expect("a value lies under its own type")
    }

    /// Puts a value where [`Attachments::get`] finds it.
    pub fn put<T: Send + Sync + 'static>(&self, value: Arc<T>) {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<T>(), value);
    }
}
