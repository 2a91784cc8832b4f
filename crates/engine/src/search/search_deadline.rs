use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::ranking::Deadline;
use crate::settings::DEFAULT_CUTOFF_MS;
use crate::store::Snapshot;

/// When a search began, and whether its client still waits for the answer.
#[derive(Debug, Clone)]
pub struct SearchDeadline {
    pub(super) started: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl SearchDeadline {
    /// Waiting since `started`, until `stop` is set.
    pub fn new(started: Instant, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { started, stop }
    }

    /// When ranking has to stop under the settings of an index.
    pub(super) fn deadline(&self, snapshot: &Snapshot) -> Deadline {
        let budget = Duration::from_millis(snapshot.settings().search_cutoff_ms.unwrap_or(DEFAULT_CUTOFF_MS));
        // A budget beyond what clocks can say is none.
        let at =
            self.started.checked_add(budget).unwrap_or_else(|| self.started + Duration::from_secs(1 << 30));
        Deadline::new(at, self.stop.clone())
    }

    /// # Errors
    /// The client is gone: an internal error, which the server keeps to itself then.
    pub(super) fn check(&self) -> Result<()> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                Err(Error::internal("a search was given up", "its client is gone"))
            }
            _ => Ok(()),
        }
    }

    /// What tells that the client is gone.
    pub(super) fn stop(&self) -> Option<&AtomicBool> {
        self.stop.as_deref()
    }

    /// The same for another search of the request, whose time begins now.
    pub(super) fn anew(&self) -> Self {
        Self { started: Instant::now(), stop: self.stop.clone() }
    }
}

impl From<Instant> for SearchDeadline {
    fn from(started: Instant) -> Self {
        Self::new(started, None)
    }
}
