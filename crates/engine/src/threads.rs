//! Here is work: which threads do which part of it, and whom do they give way to?

use std::cmp::Reverse;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Documents nest at most 128 deep (serde_json's limit), so this is generous.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Threads that share the work of one search.
pub fn for_a_search() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS
        .get_or_init(|| std::thread::available_parallelism().map_or(1, |there_are| there_are.get().min(4)))
}

/// Runs `work` over parts that take a millisecond or few, on this thread and on those that wait for such. Gives the
/// outcomes in order.
pub fn with_helpers<P: Sync, T: Send>(parts: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let Some(helpers) = helpers().filter(|_| parts.len() > 1) else {
        return parts.iter().map(work).collect();
    };
    let outcomes: Vec<Mutex<Option<T>>> = parts.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    // Whoever comes first: where all helpers are busy, this thread does all of it.
    let work_on = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < parts.len()) {
            let outcome = work(&parts[at]);
            *outcomes[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    };
    helpers.in_place_scope(|scope| {
        parts[1..].iter().for_each(|_| scope.spawn(|_| work_on()));
        work_on();
    });
    let given = |outcome: Mutex<_>| outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.into_iter().filter_map(given).collect()
}

/// Threads that are there before they are needed: to start one takes a quarter of a millisecond. None if there are none
/// to be had.
fn helpers() -> Option<&'static rayon::ThreadPool> {
    static HELPERS: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    let start = || {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(for_a_search()).stack_size(STACK_BYTES);
        threads.thread_name(|at| format!("siftd-help-{at}")).build().ok()
    };
    HELPERS.get_or_init(start).as_ref()
}

/// Runs `work` over parts, the last on this thread, each other on one of its own. Gives the outcomes in order.
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
                // No thread was to be had: slower, but no reason to fail.
                Err(_) => work(part),
            });
        }
        outcomes.push(outcome);
        outcomes
    })
}

/// Parts shared out to as many threads as a search may have, given with their weights: each goes to the thread that has
/// least to do, the heaviest first.
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

/// Runs `work` on a thread that gives way to all others where processors are short. It must hold nothing that others
/// wait for. Where a system cannot tell threads apart, it runs like any other.
///
/// # Errors
/// If no thread is to be had.
pub fn giving_way<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("siftd-yielding".to_owned()).stack_size(STACK_BYTES);
        let helper = thread.spawn_scoped(scope, || {
            give_way();
            work()
        })?;
        helper.join().or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The same for work that nobody waits for. Where no thread is to be had, nothing is done.
pub fn aside(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("siftd-yielding".to_owned());
    let _ = thread.spawn(|| {
        give_way();
        work();
    });
}

/// A tenth of the processor while others want all of it.
#[cfg(target_os = "linux")]
const NICENESS: libc::c_int = 10;

#[cfg(target_os = "linux")]
fn give_way() {
    // SAFETY: sets a number of this thread, which Linux keeps for each by itself; 0 stands for whoever asks. If it is
    // refused all is as before.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

#[cfg(test)]
mod tests {
    use super::{in_parallel, with_helpers};

    #[test]
    fn outcomes_come_in_the_order_of_the_parts_from_within_helpers_too() {
        let parts: Vec<u64> = (0..50).collect();
        let squares: Vec<u64> = parts.iter().map(|part| part * part).collect();
        let sums = |part: &u64| with_helpers(&parts, |other| part * other);
        for row in [with_helpers(&parts, sums), in_parallel(&parts, sums)] {
            let diagonal: Vec<u64> = row.iter().enumerate().map(|(at, products)| products[at]).collect();
            assert_eq!(diagonal, squares);
        }
        assert!(with_helpers(&[] as &[u64], |part| *part).is_empty());
    }

    #[test]
    fn a_panic_of_a_helper_is_one_of_whoever_asked_and_others_are_helped_after_it() {
        let parts = [1, 2, 3];
        let caught = std::panic::catch_unwind(|| with_helpers(&parts, |part| assert!(*part != 2, "no")));
        assert!(caught.is_err());
        assert_eq!(with_helpers(&parts, |part| part + 1), [2, 3, 4]);
    }
}
