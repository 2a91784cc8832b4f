//! How much memory and how many threads may an engine use?

/// The memory and threads that an engine may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory that indexing may use beside mapped files, in bytes.
    pub indexing_memory_bytes: usize,
    /// Threads that indexing may use.
    pub indexing_threads: usize,
    /// Memory of the cache that all indexes share, in bytes.
    pub cache_bytes: usize,
}

/// Tables of a staged batch get one in so many bytes of the memory for indexing; beyond it they lie in files.
pub(super) const STAGED_MEMORY_SHARE: usize = 4;

/// Segments being built get one in so many bytes of the memory for indexing. The rest is for writing them out and for a
/// merge at the same time.
const SEGMENT_MEMORY_SHARE: usize = 4;

/// The least memory for segments being built, in bytes: with less, a batch becomes many small segments.
const SEGMENT_BYTES_MIN: usize = 4_000_000;

/// The most memory for the segments of a thread, in bytes: more does not make indexing faster.
const SEGMENT_BYTES_MAX: usize = 100_000_000;

/// Memory in bytes for segments being built, beside a staged batch of `staged_bytes`.
pub(super) fn segment_bytes(indexing_bytes: usize, staged_bytes: usize, threads: usize) -> usize {
    let share = indexing_bytes.saturating_sub(staged_bytes) / SEGMENT_MEMORY_SHARE;
    share.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX * threads)
}
