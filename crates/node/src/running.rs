//! Searches that can be told that nobody waits for them any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use engine::search::Patience;

type Flags = HashMap<u32, Arc<AtomicBool>>;

/// The searches under way, by the tickets their callers chose.
#[derive(Clone, Default)]
pub struct Running {
    flags: Arc<Mutex<Flags>>,
}

impl Running {
    /// Begins to wait for an answer. Without a ticket it cannot be stopped.
    pub fn wait(&self, ticket: Option<u32>) -> Waited {
        let stop = ticket.map(|ticket| {
            let stop = Arc::new(AtomicBool::new(false));
            self.lock().insert(ticket, Arc::clone(&stop));
            stop
        });
        Waited { started: Instant::now(), stop, ticket, running: self.clone() }
    }

    /// Nobody waits for that search any more; does nothing if it has ended.
    pub fn stop(&self, ticket: u32) {
        if let Some(stop) = self.lock().get(&ticket) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Flags> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One search somebody waits for, until this is dropped.
pub struct Waited {
    started: Instant,
    stop: Option<Arc<AtomicBool>>,
    ticket: Option<u32>,
    running: Running,
}

impl Waited {
    /// As the engine wants to know it.
    pub fn patience(&self) -> Patience {
        Patience::new(self.started, self.stop.clone())
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.running.lock().remove(&ticket);
        }
    }
}
