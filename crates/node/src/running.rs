//! Running searches and batches that can be stopped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use napi_derive::napi;
use siftd_engine::search::SearchDeadline;

type Flags = HashMap<u32, Arc<AtomicBool>>;

/// Allows to stop a call.
#[napi(object, object_to_js = false)]
pub struct Ticket {
    /// Chosen by the caller, unique among the running calls.
    pub number: u32,
    /// True if the call was stopped before it began.
    pub is_stopped: bool,
}

/// Flags of the running calls, by ticket number.
#[derive(Clone, Default)]
pub struct Running {
    flags: Arc<Mutex<Flags>>,
}

impl Running {
    /// Registers a call. Without a ticket it cannot be stopped.
    pub fn wait(&self, ticket: Option<Ticket>) -> Waited {
        let stop = ticket.as_ref().map(|ticket| {
            let stop = Arc::new(AtomicBool::new(ticket.is_stopped));
            self.lock().insert(ticket.number, Arc::clone(&stop));
            stop
        });
        let ticket = ticket.map(|ticket| ticket.number);
        Waited { started: Instant::now(), stop, ticket, running: self.clone() }
    }

    /// Stops a call. Does nothing if it has ended already.
    pub fn stop(&self, ticket: u32) {
        if let Some(stop) = self.lock().get(&ticket) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Flags> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A registered call. Dropping it ends the registration.
pub struct Waited {
    started: Instant,
    stop: Option<Arc<AtomicBool>>,
    ticket: Option<u32>,
    running: Running,
}

impl Waited {
    /// Returns the flag that stops the call, if it has a ticket.
    pub fn stop(&self) -> Option<Arc<AtomicBool>> {
        self.stop.clone()
    }

    /// Returns the deadline for the engine.
    pub fn search_deadline(&self) -> SearchDeadline {
        SearchDeadline::new(self.started, self.stop.clone())
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.running.lock().remove(&ticket);
        }
    }
}
