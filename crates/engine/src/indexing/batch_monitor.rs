//! Stops a batch that is being prepared or written, and reports its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use serde::Serialize;

use crate::error::{Error, Result};

/// Lets callers stop the current batch and read its progress.
#[derive(Debug, Clone, Default)]
pub struct BatchMonitor {
    /// Set to stop the current batch.
    pub stop: Arc<AtomicBool>,
    /// Set by the caller to stop a single call, possibly before it begins.
    pub call_stop: Option<Arc<AtomicBool>>,
    /// Counters of the current batch.
    pub progress: Arc<Progress>,
}

impl BatchMonitor {
    /// Counts a document.
    ///
    /// # Errors
    /// Internal, if the batch was stopped.
    pub fn next(&self) -> Result<()> {
        self.progress.finished.fetch_add(1, Ordering::Relaxed);
        self.check()
    }

    /// Checks that the batch may continue.
    ///
    /// # Errors
    /// Internal, if the batch was stopped.
    pub fn check(&self) -> Result<()> {
        let is_call_stopped = self.call_stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        match is_call_stopped || self.stop.load(Ordering::Relaxed) {
            true => Err(Error::internal("the batch was not written", "it was abandoned")),
            false => Ok(()),
        }
    }
}

/// Counters of the current batch, which other threads read.
#[derive(Debug, Default)]
pub struct Progress {
    /// A [`Step`]; 0 between steps.
    step: AtomicU8,
    finished: AtomicU64,
    total: AtomicU64,
}

/// A step of preparing or committing a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Documents are read, merged and checked.
    Reading = 1,
    /// Documents are analysed and written.
    Indexing,
    /// The written segments become the newest commit.
    Committing,
}

/// By [`Step`]: its name for clients, and the number of earlier steps in the same call.
const STEPS: [StepProgress; 3] = [
    StepProgress { current_step: "computing document changes", finished: 0, total: 1 },
    StepProgress { current_step: "indexing", finished: 0, total: 2 },
    StepProgress { current_step: "committing", finished: 1, total: 2 },
];

/// Progress of a step. Shape: `Step` in `ts/engine/batches.ts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepProgress {
    current_step: &'static str,
    finished: u64,
    total: u64,
}

impl Progress {
    /// Begins a step with this number of documents; 0 if they are not counted.
    pub fn begin(&self, step: Step, documents: u64) {
        // Readers see no step during the change, instead of counters of two steps.
        self.step.store(0, Ordering::SeqCst);
        self.finished.store(0, Ordering::SeqCst);
        self.total.store(documents, Ordering::SeqCst);
        self.step.store(step as u8, Ordering::SeqCst);
    }

    /// Adds documents to the total of the step.
    pub fn expect(&self, documents: u64) {
        self.total.fetch_add(documents, Ordering::Relaxed);
    }

    fn end(&self) {
        self.step.store(0, Ordering::SeqCst);
    }

    /// Returns the current step and its documents, outermost first; `None` between steps.
    pub fn steps(&self) -> Option<Vec<StepProgress>> {
        let (step, finished, total) = loop {
            let step = self.step.load(Ordering::SeqCst);
            let numbers = (self.finished.load(Ordering::SeqCst), self.total.load(Ordering::SeqCst));
            if step == self.step.load(Ordering::SeqCst) {
                break (step, numbers.0, numbers.1);
            }
        };
        let documents = StepProgress { current_step: "document", finished: finished.min(total), total };
        let mut steps = vec![*STEPS.get(usize::from(step).checked_sub(1)?)?];
        steps.extend((total > 0).then_some(documents));
        Some(steps)
    }
}

/// Ends the current step when it is dropped.
pub struct ProgressGuard<'p>(pub &'p Progress);

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_counted_within_their_step() {
        let monitor = BatchMonitor::default();
        let shown = || serde_json::to_value(monitor.progress.steps()).unwrap();
        assert_eq!(shown(), serde_json::Value::Null);
        monitor.progress.begin(Step::Reading, 2);
        monitor.next().unwrap();
        let reading =
            serde_json::json!({"currentStep": "computing document changes", "finished": 0, "total": 1});
        let document = serde_json::json!({"currentStep": "document", "finished": 1, "total": 2});
        assert_eq!(shown(), serde_json::json!([reading, document]));
        monitor.progress.expect(3);
        assert_eq!(shown()[1]["total"], 5);
        monitor.progress.begin(Step::Committing, 0);
        let committing = serde_json::json!({"currentStep": "committing", "finished": 1, "total": 2});
        assert_eq!(shown(), serde_json::json!([committing]), "a commit counts no documents");
        monitor.progress.end();
        assert_eq!(shown(), serde_json::Value::Null);
    }

    #[test]
    fn no_more_documents_are_shown_than_expected() {
        let monitor = BatchMonitor::default();
        monitor.progress.begin(Step::Indexing, 1);
        (0..3).for_each(|_| monitor.next().unwrap());
        assert_eq!(monitor.progress.steps().unwrap()[1].finished, 1);
    }

    #[test]
    fn a_stopped_batch_does_not_continue() {
        let monitor = BatchMonitor::default();
        monitor.stop.store(true, Ordering::Relaxed);
        assert!(monitor.next().is_err());
    }
}
