//! Merges segments in the background and on demand, and closes an index, which stops merges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use super::open_index::Index;
use crate::background_fault::BackgroundFaultKind;
use crate::error::{Error, Result};
use crate::store::{Change, CommitRecord, Committed, Effort};
use crate::vector::Vectors;

impl Index {
    /// Merges segments if there are too many, and shows the result to readers. Returns true if there may be more to
    /// merge. Batches can be prepared and searches run at the same time.
    ///
    /// # Errors
    /// Internal; the index is then unchanged.
    pub fn merge(&self) -> Result<bool> {
        let _only = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        self.merge_chosen(Effort::Any, &self.closed)
    }

    /// Merges all segments into one, and rewrites vector logs without replaced records. Searches run at the same time.
    /// Setting `stop` ends it soon; completed parts stay.
    ///
    /// # Errors
    /// Internal, also if it was stopped; the documents are then unchanged.
    pub fn compact(&self, stop: &Arc<AtomicBool>) -> Result<()> {
        let _only = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        self.merge_chosen(Effort::Compaction, stop)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::internal("a compaction was not completed", "it was stopped"));
        }
        let _writing = self.writing();
        let Some(newest) = self.current() else { return Ok(()) };
        let Some(committed) = &newest.committed else { return Ok(()) };
        let faults = &self.services.faults;
        self.tidy(committed);
        let before = Vectors::of(&committed.snapshot);
        let remove_new = || before.remove_stale(&self.path, faults);
        let compacted = before.compacted(&self.path).inspect_err(|_| remove_new())?;
        let Some(vectors) = compacted else { return Ok(()) };
        let parts = committed.snapshot.parts().clone();
        let record = CommitRecord { vectors: vectors.logs(), ..committed.record.clone() };
        let committed = newest
            .directory
            .commit(Some(committed), Change::default(), parts, record)
            .inspect_err(|_| remove_new())?;
        vectors.remove_stale(&self.path, faults);
        vectors.maintain_graphs();
        committed.snapshot.attachments().put(Arc::new(vectors));
        self.show(Arc::clone(&newest.directory), committed);
        Ok(())
    }

    /// Makes a merge. The caller holds the merge lock.
    fn merge_chosen(&self, effort: Effort, stop: &Arc<AtomicBool>) -> Result<bool> {
        let Some(current) = self.current() else { return Ok(false) };
        let Some(committed) = &current.committed else { return Ok(false) };
        let is_stopped = || self.closed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
        if is_stopped() {
            return Ok(false);
        }
        let merge = current.directory.merge(committed, effort, stop);
        if is_stopped() {
            // A stopped merge fails.
            return Ok(false);
        }
        let Some(merge) = merge? else { return Ok(false) };
        let _writing = self.writing();
        let Some(newest) = self.current() else { return Ok(false) };
        let Some(committed) = &newest.committed else { return Ok(false) };
        if is_stopped() {
            return Ok(false);
        }
        let vectors = Vectors::of(&committed.snapshot);
        if let Some(committed) = newest.directory.commit_merge(committed, merge)? {
            // Vectors are looked up by docid, which a merge does not change.
            committed.snapshot.attachments().put(vectors);
            self.show(Arc::clone(&newest.directory), committed);
        }
        Ok(true)
    }

    /// Merges segments in the background until there are few, and [warms up](Self::warm_up) the newest commit. Errors and
    /// panics are reported; the index then keeps its commit, and the next commit triggers another attempt.
    pub fn merge_in_background(&self) {
        self.warm_up();
        self.services.faults.watch(BackgroundFaultKind::SegmentMerge, &self.path, || {
            while self.merge()? {
                self.warm_up();
            }
            Ok(())
        });
    }

    /// Stops merges and the building of graphs, after the batch that is being written. Readers keep their snapshots.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        drop(self.writing());
        drop(self.merging.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(Committed { snapshot, .. }) = self.current().as_ref().and_then(|it| it.committed.as_ref())
        {
            Vectors::of(snapshot).stop();
        }
    }
}
