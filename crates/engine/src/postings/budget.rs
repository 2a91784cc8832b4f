//! Time limits of a search.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Time that a search may take.
///
/// After the deadline, no further documents are ranked, but the set of matching documents is still completed. If that
/// takes [`OVERDRAFT`] longer, reading stops and some matching documents may be missing.
pub struct Budget {
    deadline: Instant,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    spent: AtomicBool,
    overdrawn: AtomicBool,
    steps: AtomicU32,
}

/// Time after the deadline for completing the set of matching documents.
pub const OVERDRAFT: Duration = Duration::from_millis(40);

/// Steps (a posting, a term, a node of a dictionary) between two readings of the clock. They take microseconds.
const STEPS_PER_CLOCK_READ: u32 = 256;

impl Budget {
    /// Creates a budget that ends at `deadline` by the system clock.
    pub fn until(deadline: Instant) -> Self {
        Self::by(deadline, Instant::now)
    }

    /// Creates a budget that ends when `clock` reaches `deadline`.
    pub fn by(deadline: Instant, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let no = || AtomicBool::new(false);
        Self { deadline, clock: Box::new(clock), spent: no(), overdrawn: no(), steps: AtomicU32::new(0) }
    }

    /// Returns true if the deadline has passed. The result stays true: the clock is not read again.
    pub fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) || self.is_overdrawn() || {
            let spent = (self.clock)() >= self.deadline;
            self.spent.store(spent, Ordering::Relaxed);
            spent
        }
    }

    /// Returns true if reading has stopped for good.
    pub fn is_overdrawn(&self) -> bool {
        self.overdrawn.load(Ordering::Relaxed)
    }

    /// Counts a step; returns true if reading has to stop.
    pub fn stops(&self) -> bool {
        self.stops_after(1)
    }

    /// Counts several steps, before or after they are taken; returns true if reading has to stop.
    pub fn stops_after(&self, steps: usize) -> bool {
        // An overdrawn budget refuses the steps, so only this call counts, as one step.
        let taken = if self.is_overdrawn() { 1 } else { steps as u32 };
        let before = self.steps.load(Ordering::Relaxed);
        let after = before.wrapping_add(taken);
        self.steps.store(after, Ordering::Relaxed);
        let reads_clock = before / STEPS_PER_CLOCK_READ != after / STEPS_PER_CLOCK_READ;
        if reads_clock && (self.clock)() >= self.deadline + OVERDRAFT {
            self.overdrawn.store(true, Ordering::Relaxed);
        }
        self.is_overdrawn()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn ranking_stops_at_the_deadline_and_reading_later() {
        let start = Instant::now();
        let millis = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&millis);
        let budget = Budget::by(start + Duration::from_millis(10), move || {
            start + Duration::from_millis(clock.load(Ordering::Relaxed))
        });
        let stops = || (0..=STEPS_PER_CLOCK_READ).any(|_| budget.stops());
        for (now, spent, stopped) in
            [(0, false, false), (9, false, false), (10, true, false), (49, true, false), (50, true, true)]
        {
            millis.store(now, Ordering::Relaxed);
            assert_eq!((stops(), budget.is_spent()), (stopped, spent), "{now} ms");
        }
        millis.store(0, Ordering::Relaxed);
        assert!(stops(), "reading does not resume");
        assert!(budget.is_spent(), "the budget stays spent if the clock is set back");
    }
}
