//! Limits for the memory and threads of an engine.

/// Limits for the memory and threads of an engine.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory for indexing in bytes, without mapped files.
    pub indexing_memory_bytes: usize,
    /// Threads for indexing.
    pub indexing_threads: usize,
    /// Memory of the cache that all indexes share, in bytes.
    pub cache_bytes: usize,
}

/// Divisor of the memory for indexing that gives the share of the tables of a staged batch. Larger tables are in files.
pub(super) const STAGED_MEMORY_SHARE: usize = 4;

/// Divisor of the memory for indexing that gives the share of segments being built. The rest is for writing them and
/// for a concurrent merge.
const SEGMENT_MEMORY_SHARE: usize = 4;

/// Least memory for segments being built, in bytes: with less, a batch becomes many small segments.
const SEGMENT_BYTES_MIN: usize = 4_000_000;

/// Most memory for the segments of a thread, in bytes: more does not make indexing faster.
const SEGMENT_BYTES_MAX: usize = 100_000_000;

/// Returns the memory in bytes for segments being built, in addition to a staged batch of `staged_bytes`.
pub(super) fn segment_bytes(indexing_bytes: usize, staged_bytes: usize, threads: usize) -> usize {
    let share = indexing_bytes.saturating_sub(staged_bytes) / SEGMENT_MEMORY_SHARE;
    share.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX * threads)
}
