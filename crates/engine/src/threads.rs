//! Here is work in parts: who does which?

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
