//! Runs work on several threads or with low priority.

use std::cmp::Reverse;
use std::io;
use std::sync::OnceLock;

/// Documents are nested at most 128 deep (limit of serde_json), so this is generous.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Number of threads that share the work of a search.
pub fn for_a_search() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS
        .get_or_init(|| std::thread::available_parallelism().map_or(1, |there_are| there_are.get().min(4)))
}

/// Runs `work` on each part: the last on this thread, each other on its own thread. Returns the results in order.
pub fn in_parallel<P: Sync, T: Send>(parts: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let (Some((last, others)), work) = (parts.split_last(), &work) else { return Vec::new() };
    std::thread::scope(|scope| {
        let mut helpers = Vec::with_capacity(others.len());
        for part in others {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            helpers.push((thread.spawn_scoped(scope, move || work(part)), part));
        }
        let outcome = work(last);
        let mut outcomes = Vec::with_capacity(parts.len());
        for (helper, part) in helpers {
            outcomes.push(match helper.map(|helper| helper.join()) {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // No thread could be started: slower, but no failure.
                Err(_) => work(part),
            });
        }
        outcomes.push(outcome);
        outcomes
    })
}

/// Distributes weighted parts to as many threads as a search may use, the heaviest first, each to the thread with the
/// least work.
pub fn shared_out<P>(mut parts: Vec<(u32, P)>) -> Vec<Vec<P>> {
    parts.sort_unstable_by_key(|(weight, _)| Reverse(*weight));
    let mut shares: Vec<(u64, Vec<P>)> = (0..for_a_search()).map(|_| (0, Vec::new())).collect();
    for (weight, part) in parts {
        if let Some((sum, share)) = shares.iter_mut().min_by_key(|(sum, _)| *sum) {
            *sum += u64::from(weight);
            share.push(part);
        }
    }
    shares.into_iter().map(|(_, share)| share).filter(|share| !share.is_empty()).collect()
}

/// A lower priority than that of searches and requests.
#[derive(Debug, Clone, Copy)]
pub enum Priority {
    /// For work that a client waits for. On a processor with one busy normal thread, it gets a third of the time.
    Third,
    /// For work that no client waits for. It gets a tenth of the time.
    Tenth,
}

impl Priority {
    /// How much to raise the niceness, so that the thread gets this part. A step of one is a factor of 1.25.
    #[cfg(target_os = "linux")]
    fn steps(self) -> libc::c_int {
        match self {
            Self::Third => 3,
            Self::Tenth => 10,
        }
    }

    /// Gives this thread, and threads that it starts, this priority.
    #[cfg(target_os = "linux")]
    fn take(self) {
        // SAFETY: reads and sets the niceness of this thread only: Linux keeps it per thread, and 0 means the calling
        // thread. Failure changes nothing.
        unsafe {
            let niceness = libc::getpriority(libc::PRIO_PROCESS, 0) + self.steps();
            libc::setpriority(libc::PRIO_PROCESS, 0, niceness);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn take(self) {}
}

/// Runs `work` on a thread of low priority and waits for it. `work` must not hold locks. On systems without thread
/// priorities, it runs with normal priority.
///
/// # Errors
/// If no thread can be started.
pub fn giving_way<T: Send>(priority: Priority, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("siftd-yielding".to_owned()).stack_size(STACK_BYTES);
        let helper = thread.spawn_scoped(scope, || {
            priority.take();
            work()
        })?;
        helper.join().or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Starts `work` on a thread of low priority without waiting for it.
///
/// # Errors
/// The error of the system if no thread can be started.
pub fn aside(priority: Priority, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("siftd-yielding".to_owned());
    thread.spawn(move || {
        priority.take();
        work();
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    use super::{Priority, for_a_search, giving_way, in_parallel};

    #[test]
    fn outcomes_come_in_the_order_of_the_parts() {
        assert_eq!(in_parallel(&[1, 2, 3], |part| part * part), [1, 4, 9]);
        assert!(in_parallel(&[] as &[u64], |part| *part).is_empty());
    }

    #[test]
    fn a_panic_in_a_part_reaches_the_caller() {
        let parts = [1, 2, 3];
        assert!(std::panic::catch_unwind(|| in_parallel(&parts, |part| assert!(*part != 2, "no"))).is_err());
    }

    /// A search whose time is up must not wait for the parts of another search.
    #[test]
    fn in_parallel_does_not_wait_for_parts_of_other_calls() {
        let (released, changed) = (Mutex::new(false), Condvar::new());
        let (started, starts) = mpsc::channel();
        let (done, outcome) = mpsc::channel();
        let wait = |_: &usize| {
            started.send(()).unwrap();
            let held = released.lock().unwrap_or_else(PoisonError::into_inner);
            drop(changed.wait_while(held, |released| !*released).unwrap_or_else(PoisonError::into_inner));
        };
        let parts = [0, 1];
        std::thread::scope(|scope| {
            let others = for_a_search() + 1;
            for _ in 0..others {
                scope.spawn(move || in_parallel(&parts, wait));
            }
            let all_started =
                (0..others * parts.len()).all(|_| starts.recv_timeout(Duration::from_secs(60)).is_ok());
            scope.spawn(move || done.send(in_parallel(&parts, |part| part + 1)));
            let outcome = outcome.recv_timeout(Duration::from_secs(60));
            // Must come before the assertions: otherwise a failure would block the other threads forever.
            *released.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
            assert!(all_started);
            assert_eq!(outcome, Ok(vec![1, 2]));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_that_a_giving_way_thread_starts_give_way_too() {
        // SAFETY: reads a number of the calling thread.
        let niceness = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = niceness();
        let all = giving_way(Priority::Third, || in_parallel(&[0, 1], |_| niceness())).unwrap();
        let lower = (before + 3).min(19);
        assert_eq!(all, [lower, lower]);
        assert_eq!(niceness(), before);
    }
}
