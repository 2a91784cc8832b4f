//! Here is work: which threads do which part of it, and whom do they give way to?

use std::cmp::Reverse;
use std::io;
use std::sync::OnceLock;

/// Documents nest at most 128 deep (serde_json's limit), so this is generous.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Threads that share the work of one search.
pub fn for_a_search() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS
        .get_or_init(|| std::thread::available_parallelism().map_or(1, |there_are| there_are.get().min(4)))
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
