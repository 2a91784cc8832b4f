//! Measures and limits the resources of a script.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::limits::{
    DOCUMENT_MS_MAX, LEFT_BEHIND_BYTES_MAX, LEFT_BEHIND_IN_ALL_BYTES_MAX, MEMORY_BYTES_MAX,
    NESTING_STACK_BYTES_MAX, STEPS_PER_CHECK,
};
use crate::memory;

/// The limit that a script exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// Time limit of all documents.
    Time,
    /// Time limit of a single document.
    DocumentTime,
    /// [`MEMORY_BYTES_MAX`].
    Memory,
    /// Depth of nested values.
    Nesting,
    /// [`LEFT_BEHIND_BYTES_MAX`]: memory that is not freed.
    LeftBehind,
    /// [`LEFT_BEHIND_IN_ALL_BYTES_MAX`].
    LeftBehindInAll,
    /// The task was stopped.
    Stopped,
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time => write!(f, "it took too long over all documents"),
            Self::DocumentTime => write!(f, "it took more than {DOCUMENT_MS_MAX} ms for one document"),
            Self::Memory => {
                write!(f, "its values took more than {MEMORY_BYTES_MAX} bytes of memory at a time")
            }
            Self::Nesting => write!(f, "one of its values is nested too deeply"),
            Self::LeftBehind => write!(f, "its values hold each other, so that they can never be freed"),
            Self::LeftBehindInAll => write!(
                f,
                "functions have left more than {LEFT_BEHIND_IN_ALL_BYTES_MAX} bytes in values that hold each other; \
                 restart the server to run more of them"
            ),
            Self::Stopped => write!(f, "it was stopped"),
        }
    }
}

/// Bytes that scripts of this process have left allocated.
static LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);

/// Measures a single script, which runs on a single thread.
pub struct Meter {
    deadline: Instant,
    stop: Option<Arc<AtomicBool>>,
    document_deadline: Cell<Instant>,
    /// Bytes held by the thread before the document.
    held_before: Cell<isize>,
    /// Bytes of the document's outcome, which outlives its run.
    outcome_bytes: Cell<isize>,
    steps: Cell<u64>,
    exceeded: Cell<Option<Exceeded>>,
}

impl Meter {
    /// All documents must be done by `deadline`; the script stops when `stop` is set.
    pub fn new(deadline: Instant, stop: Option<Arc<AtomicBool>>) -> Self {
        Self {
            deadline,
            stop,
            document_deadline: Cell::new(deadline),
            held_before: Cell::new(memory::held()),
            outcome_bytes: Cell::new(0),
            steps: Cell::new(0),
            exceeded: Cell::new(None),
        }
    }

    /// Begins a document.
    ///
    /// # Errors
    /// If the time for all documents is over, or scripts have left too much allocated.
    pub fn begin(&self) -> Result<(), Exceeded> {
        self.document_deadline.set(Instant::now() + Duration::from_millis(DOCUMENT_MS_MAX));
        self.held_before.set(memory::held());
        self.outcome_bytes.set(0);
        self.exceeded.set(None);
        let is_full = LEFT_BEHIND.load(Ordering::Relaxed) > LEFT_BEHIND_IN_ALL_BYTES_MAX;
        if let Some(exceeded) = is_full.then_some(Exceeded::LeftBehindInAll).or_else(|| self.time_exceeded())
        {
            return Err(exceeded);
        }
        memory::watch_stack(NESTING_STACK_BYTES_MAX);
        Ok(())
    }

    /// Builds the outcome of the document, which outlives its run.
    pub fn outcome<T>(&self, make: impl FnOnce() -> T) -> T {
        let before = memory::held();
        let outcome = make();
        self.outcome_bytes.set(memory::held() - before);
        outcome
    }

    /// Ends a document, after all its values are dropped.
    ///
    /// # Errors
    /// The limit that was exceeded during the run, even if the script continued.
    pub fn end(&self) -> Result<(), Exceeded> {
        let is_deep = memory::unwatch_stack();
        let left = memory::held() - self.held_before.get() - self.outcome_bytes.get();
        let left = usize::try_from(left).unwrap_or(0);
        if left > LEFT_BEHIND_BYTES_MAX {
            LEFT_BEHIND.fetch_add(left, Ordering::Relaxed);
            self.note(Exceeded::LeftBehind);
        }
        if is_deep {
            self.note(Exceeded::Nesting);
        }
        self.exceeded.get().map_or(Ok(()), Err)
    }

    /// Checks if another step is allowed. After an error, no further step is.
    ///
    /// # Errors
    /// The limit that was exceeded first.
    pub fn step(&self) -> Result<(), Exceeded> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if memory::went_deep() {
            self.note(Exceeded::Nesting);
        } else if self.used() > MEMORY_BYTES_MAX {
            self.note(Exceeded::Memory);
        } else if steps.is_multiple_of(STEPS_PER_CHECK)
            && let Some(exceeded) = self.time_exceeded()
        {
            self.note(exceeded);
        }
        memory::watch_stack(NESTING_STACK_BYTES_MAX);
        self.exceeded.get().map_or(Ok(()), Err)
    }

    /// Bytes held by the values of the document's run.
    pub fn used(&self) -> usize {
        usize::try_from(memory::held() - self.held_before.get()).unwrap_or(0)
    }

    /// Returns the limit that was exceeded first.
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded.get()
    }

    /// Records the first exceeded limit.
    pub fn note(&self, exceeded: Exceeded) {
        if self.exceeded.get().is_none() {
            self.exceeded.set(Some(exceeded));
        }
    }

    fn time_exceeded(&self) -> Option<Exceeded> {
        let now = Instant::now();
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            Some(Exceeded::Stopped)
        } else if now > self.deadline {
            Some(Exceeded::Time)
        } else if now > self.document_deadline.get() {
            Some(Exceeded::DocumentTime)
        } else {
            None
        }
    }
}
