//! The threads of all models.

use std::sync::{Arc, OnceLock};

use rayon::ThreadPool;

use crate::error::{Failure, Result};

/// The threads shared by all models of a process.
#[derive(Clone)]
pub struct Threads {
    count: usize,
    pub(crate) documents: Arc<ThreadPool>,
    pub(crate) searches: Arc<ThreadPool>,
    /// Started by the first cross-encoder.
    rankings: Arc<OnceLock<std::result::Result<ThreadPool, String>>>,
}

impl Threads {
    /// Starts `count` threads for documents, at least one, and one for searches. A cross-encoder starts `count` more.
    ///
    /// # Errors
    /// If the system cannot start them.
    pub fn start(count: usize) -> std::result::Result<Self, String> {
        // Threads work on different texts. Splitting each matrix product as well was slower by up to a quarter.
        gemm::set_threading_threshold(usize::MAX);
        let count = count.max(1);
        let documents = Arc::new(pool(count, "embed")?);
        let searches = Arc::new(pool(1, "embed-search")?);
        Ok(Self { count, documents, searches, rankings: Arc::default() })
    }

    /// The threads that score documents. A search waits for them, so they do not wait for documents of a batch.
    pub(crate) fn rankings(&self) -> Result<&ThreadPool> {
        let pool = self.rankings.get_or_init(|| pool(self.count, "rerank"));
        pool.as_ref().map_err(|error| Failure::of_weights(format!("no threads can be started: {error}")))
    }
}

fn pool(count: usize, name: &'static str) -> std::result::Result<ThreadPool, String> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(move |number| format!("{name}-{number}"))
        .build()
        .map_err(|error| error.to_string())
}
