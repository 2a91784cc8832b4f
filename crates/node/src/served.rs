//! Open engines of this process, so that event loops of other threads can search in them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use siftd_engine::Engine;
use siftd_engine::error::{Error, Result};

use crate::pool::Pool;

/// Number of dropped indexes that are remembered.
const DROPPED_MAX: usize = 1_000;

/// An open engine with the threads that search in it.
pub struct Served {
    pub engine: Arc<Engine>,
    pub searching: Pool,
    pub readers: Arc<Readers>,
}

/// Engines by number. The references are weak: an entry keeps neither an index nor a thread alive.
static ENGINES: Mutex<BTreeMap<u32, Weak<Served>>> = Mutex::new(BTreeMap::new());

/// Makes an engine available to other threads. Returns its number.
pub fn publish(served: &Arc<Served>) -> u32 {
    let mut engines = locked(&ENGINES);
    engines.retain(|_, engine| engine.strong_count() > 0);
    let number = engines.last_key_value().map_or(1, |(last, _)| last + 1);
    engines.insert(number, Arc::downgrade(served));
    number
}

/// Returns the engine with this number, while it is open.
pub fn published(number: u32) -> Option<Weak<Served>> {
    locked(&ENGINES).get(&number).filter(|engine| engine.strong_count() > 0).cloned()
}

/// Counts the calls of other threads by index. Dropping an index waits for them.
#[derive(Default)]
pub struct Readers {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    running: HashMap<String, usize>,
    /// The latest dropped indexes, oldest first.
    dropped: VecDeque<String>,
    is_closed: bool,
}

impl Readers {
    /// Registers a call that reads these indexes.
    ///
    /// # Errors
    /// Internal if an index was dropped or the engine was closed.
    pub fn enter(self: &Arc<Self>, indexes: Vec<String>) -> Result<Reader> {
        let mut state = locked(&self.state);
        if state.is_closed || indexes.iter().any(|index| state.dropped.contains(index)) {
            return Err(Error::internal("the index cannot be read", "it was dropped or closed"));
        }
        for index in &indexes {
            *state.running.entry(index.clone()).or_default() += 1;
        }
        drop(state);
        Ok(Reader { indexes, readers: Arc::clone(self) })
    }

    /// Refuses later calls that read this index, and waits for the running ones.
    pub fn shut_out(&self, index: &str) {
        let mut state = locked(&self.state);
        state.dropped.push_back(index.to_owned());
        if state.dropped.len() > DROPPED_MAX {
            state.dropped.pop_front();
        }
        while state.running.contains_key(index) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Accepts calls again that read this index: it is written again.
    pub fn readmit(&self, index: &str) {
        locked(&self.state).dropped.retain(|dropped| dropped != index);
    }

    /// Refuses all later calls.
    pub fn close(&self) {
        locked(&self.state).is_closed = true;
    }
}

/// A registered call. Dropping it ends the registration.
pub struct Reader {
    indexes: Vec<String>,
    readers: Arc<Readers>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = locked(&self.readers.state);
        for index in &self.indexes {
            if let Some(count) = state.running.get_mut(index) {
                *count -= 1;
                if *count == 0 {
                    state.running.remove(index);
                }
            }
        }
        drop(state);
        self.readers.ended.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
