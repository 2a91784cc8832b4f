use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::ranking::Deadline;
use crate::settings::DEFAULT_CUTOFF_MS;
use crate::store::Snapshot;

/// The start of a search, and a flag that is set when its client disconnects.
#[derive(Debug, Clone)]
pub struct SearchDeadline {
    pub(super) started: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl SearchDeadline {
    /// A search that began at `started`. `stop` is set when the client disconnects.
    pub fn new(started: Instant, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { started, stop }
    }

    /// Returns the time at which ranking must stop under the settings of an index.
    pub(super) fn deadline(&self, snapshot: &Snapshot) -> Deadline {
        let budget = Duration::from_millis(snapshot.settings().search_cutoff_ms.unwrap_or(DEFAULT_CUTOFF_MS));
        // A budget beyond the range of the clock counts as unlimited.
        let at =
            self.started.checked_add(budget).unwrap_or_else(|| self.started + Duration::from_secs(1 << 30));
        Deadline::new(at, self.stop.clone())
    }

    /// # Errors
    /// Internal, if the client has disconnected; the server does not report it.
    pub(super) fn check(&self) -> Result<()> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                Err(Error::internal("a search was given up", "its client is gone"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the flag that is set when the client disconnects.
    pub(super) fn stop(&self) -> Option<&AtomicBool> {
        self.stop.as_deref()
    }

    /// Returns the deadline of another search of the same request, starting now.
    pub(super) fn restarted(&self) -> Self {
        Self { started: Instant::now(), stop: self.stop.clone() }
    }
}

impl From<Instant> for SearchDeadline {
    fn from(started: Instant) -> Self {
        Self::new(started, None)
    }
}
