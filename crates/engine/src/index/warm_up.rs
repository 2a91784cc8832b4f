//! Prepares a commit for its first search.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Index;
use crate::{ranking, threads};

impl Index {
    /// Computes, on a low-priority thread, the values of the newest commit that its first search would have to wait for.
    /// Only new segments need work. Ends early when the index is closed. Searches report errors, so they are ignored here.
    pub fn warm_up(&self) {
        let Ok(snapshot) = self.snapshot() else { return };
        if !ranking::wants_warm_up(snapshot.settings()) {
            return;
        }
        let closed = Arc::clone(&self.closed);
        let warm_up = || ranking::warm_up(&snapshot, closed).ok();
        threads::giving_way(|| catch_unwind(AssertUnwindSafe(warm_up)).ok()).ok();
    }
}
