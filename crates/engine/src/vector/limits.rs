//! How much is too much, and from where on is which path taken? Source: vectors §10.5, unless stated.

/// Vectors of one document under one embedder; a count of them fits a byte.
pub const VECTORS_MAX: usize = 255;

/// Up to so many vectors there is no graph, and up to so many candidates none is walked.
pub const EXACT_MAX: u64 = 20_000;

/// More candidates than that are never scanned where a graph can be walked.
pub const SCANNED_MAX: u64 = 300_000;

/// Distances a filtered walk of a graph costs, times the share it keeps, per entry of its list: measured.
pub const WALK_COST: u64 = 40;

/// Lists of a walk: powers of two, so that neighbouring pages take the same walk.
pub const LIST_MIN: usize = 128;
/// See [`LIST_MIN`].
pub const LIST_MAX: usize = 1024;

/// Vectors between two looks at the clock.
pub const VECTORS_PER_LOOK: usize = 4096;

/// Links of a node above the lowest level of a graph; twice as many on it.
pub const CONNECTIVITY: usize = 16;

/// Candidates looked at when a node is linked.
pub const EXPANSION_ADD: usize = 128;

/// Vectors outside of every graph from which on one is built over them.
pub const SEAL_VECTORS: u64 = 20_000;

/// The same in bytes.
pub const SEAL_BYTES: u64 = 64 << 20;

/// Vectors of one graph at most, and bytes: writing it takes a copy.
pub const GRAPH_VECTORS_MAX: u64 = 1_000_000;
/// See [`GRAPH_VECTORS_MAX`].
pub const GRAPH_BYTES_MAX: u64 = 1 << 30;

/// Graphs below this size are merged once there are more than [`SMALL_GRAPHS_MAX`].
pub const SMALL_GRAPH_VECTORS: u64 = 100_000;
/// See [`SMALL_GRAPH_VECTORS`].
pub const SMALL_GRAPHS_MAX: usize = 8;
