//! Prepares a commit for its first search.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Index;
use crate::error::Result;
use crate::facets::{EVERY, FieldUses};
use crate::ranking::Deadline;
use crate::threads::{self, Priority};
use crate::{indexing, search};

/// Time that the warm-up of an index may take. A table that is being built is finished.
const TIME_MAX: Duration = Duration::from_secs(30);

/// First searches of an index with fewer documents are fast.
const DOCUMENTS_MIN: u64 = 10_000;

impl Index {
    /// Computes, on a low-priority thread, the values of the newest commit that its first search would have to wait for.
    /// Only new segments need work. Ends early when the index is closed. Searches report errors, so they are ignored here.
    pub fn warm_up(&self) {
        self.warm_up_within(usize::MAX);
    }

    /// Like [`Self::warm_up`], with tables of at most `bytes_max` bytes.
    pub fn warm_up_within(&self, bytes_max: usize) {
        // Other crates may panic on damaged bytes.
        let warm_up = || self.prepare_searches(bytes_max).ok();
        catch_unwind(AssertUnwindSafe(warm_up)).ok();
    }

    fn prepare_searches(&self, bytes_max: usize) -> Result<()> {
        let snapshot = self.snapshot()?;
        let settings = snapshot.settings();
        self.searched.retain(|path| path == EVERY || indexing::wants_column(settings, path));
        let deadline = Deadline::new(Instant::now() + TIME_MAX, Some(Arc::clone(&self.closed)));
        if !deadline.is_over() && search::wants_warm_up(&snapshot)? {
            let warm_up = || search::warm_up(&snapshot, bytes_max, &deadline).ok();
            threads::giving_way(Priority::Tenth, warm_up).ok();
        }
        Ok(())
    }

    /// Notes fields that searches of an earlier process have used, for [`Self::warm_up`].
    pub fn expect_searches(&self, earlier: &FieldUses) {
        self.searched.extend(earlier);
    }

    /// Returns the number of documents and the fields that searches have used. `None` if the next process need not warm up
    /// the index.
    pub fn searched(&self) -> Option<(u64, FieldUses)> {
        let documents = self.snapshot().ok()?.documents().len();
        if documents < DOCUMENTS_MIN {
            return None;
        }
        let uses = self.searched.all();
        (!uses.is_empty()).then_some((documents, uses))
    }
}
