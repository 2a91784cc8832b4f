//! Limits, and thresholds between search methods. Source: vectors §10.5, unless stated otherwise.

/// Greatest number of vectors of a document under one embedder. A count of them fits a byte.
pub const VECTORS_MAX: usize = 255;

/// Up to this many vectors, no graph is built. Up to this many candidates, none is walked.
pub const EXACT_MAX: u64 = 20_000;

/// Above this many candidates, a graph is always walked, if there is one.
pub const SCANNED_MAX: u64 = 300_000;

/// Number of distances computed by a filtered walk, per entry of its list, times the share of documents that the filter
/// keeps. Measured.
pub const WALK_COST: u64 = 40;

/// Entries of the shortest list of a walk. Longer lists have twice, four and eight times as many, so that neighbouring
/// pages use the same walk. Source: docs/decisions/0014.
pub const LIST_MIN: usize = 192;
/// Entries of the longest list.
pub const LIST_MAX: usize = 8 * LIST_MIN;

/// Vectors between two readings of the clock.
pub const VECTORS_PER_CLOCK_READ: usize = 4096;

/// From this many documents on, threads share a scan. Measured: sharing smaller scans makes them a quarter faster, but
/// one in a hundred takes twice as long.
pub const SHARED_SCAN_MIN: usize = 16_384;

/// Documents for which vectors are prefetched while earlier ones are compared.
pub const FETCHED_AHEAD: usize = 8;

/// From this many documents on, a scan compares codes first ...
pub const NARROWED_MIN: u64 = 64;

/// ... but only if at most one in this many is wanted. If more are wanted, most are compared by their vectors anyway.
pub const NARROWED_SHARE: u64 = 8;

/// Distance of a walk beyond the farthest wanted vector, as a share of the distance from the query to that vector.
/// Measured ...
pub const DETOUR: f32 = 0.2;

/// ... for at least this many wanted vectors.
pub const NEAR_MIN: usize = 20;

/// Difference between the distance of two codes and that of their vectors, with negligible exceptions.
pub const CODE_ERROR: f32 = 1e-3;

/// Links of a node above the lowest level of a graph. The lowest level has twice as many.
pub const CONNECTIVITY: usize = 16;

/// Candidates that are compared when a node is linked.
pub const EXPANSION_ADD: usize = 128;

/// From this many on, vectors outside of graphs are added to one, because every search scans them.
pub const SEAL_VECTORS: u64 = 2_000;

/// They are not added while they are fewer than this share of the graph. Copying the graph then costs more than
/// scanning them.
pub const SEAL_SHARE: u64 = 16;

/// At this many vectors or bytes, they are added in any case.
pub const SEAL_VECTORS_MAX: u64 = 20_000;
/// See [`SEAL_VECTORS_MAX`].
pub const SEAL_BYTES_MAX: u64 = 64 << 20;

/// Limits for the vectors and bytes of a graph, because writing it takes a copy.
pub const GRAPH_VECTORS_MAX: u64 = 1_000_000;
/// See [`GRAPH_VECTORS_MAX`].
pub const GRAPH_BYTES_MAX: u64 = 1 << 30;
