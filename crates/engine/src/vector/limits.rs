//! How much is too much, and from where on is which path taken? Source: vectors §10.5, unless stated.

/// Vectors of one document under one embedder; a count of them fits a byte.
pub const VECTORS_MAX: usize = 255;

/// Up to so many vectors there is no graph, and up to so many candidates none is walked.
pub const EXACT_MAX: u64 = 20_000;

/// More candidates than that are never scanned where a graph can be walked.
pub const SCANNED_MAX: u64 = 300_000;

/// Distances a filtered walk of a graph costs, times the share it keeps, per entry of its list: measured.
pub const WALK_COST: u64 = 40;

/// Entries of the shortest list of a walk; longer ones are twice, four and eight times as long, so that neighbouring
/// pages take the same walk. Measured: see the table of decisions.
pub const LIST_MIN: usize = 192;
/// Entries of the longest.
pub const LIST_MAX: usize = 8 * LIST_MIN;

/// Vectors between two looks at the clock.
pub const VECTORS_PER_LOOK: usize = 4096;

/// From so many documents on threads share a scan. Shorter ones ended a quarter sooner, but one in a hundred twice as
/// late: measured.
pub const SHARED_SCAN_MIN: usize = 16_384;

/// Documents whose vectors memory is fetching while others are compared.
pub const FETCHED_AHEAD: usize = 8;

/// From so many documents on a scan looks at codes first.
pub const NARROWED_MIN: u64 = 64;

/// ... and only if at most one in so many is wanted: the others are compared by their vectors anyway.
pub const NARROWED_SHARE: u64 = 8;

/// How much farther than the farthest of the vectors that are wanted a walk goes on looking, as a share of the
/// distance from there to the query. Measured: see the table of decisions.
pub const DETOUR: f32 = 0.2;

/// ... and as if no fewer were wanted.
pub const NEAR_MIN: usize = 20;

/// How far the distance of two codes may be from that of their vectors, all but always.
pub const CODE_ERROR: f32 = 1e-3;

/// Links of a node above the lowest level of a graph; twice as many on it.
pub const CONNECTIVITY: usize = 16;

/// Candidates looked at when a node is linked.
pub const EXPANSION_ADD: usize = 128;

/// Vectors outside of every graph are scanned by every search: from so many on they are added to one.
pub const SEAL_VECTORS: u64 = 2_000;

/// While they are fewer than this share of its graph, a copy of it for their sake costs more than they do.
pub const SEAL_SHARE: u64 = 16;

/// At so many they are added in any case, or at so many bytes.
pub const SEAL_VECTORS_MAX: u64 = 20_000;
/// See [`SEAL_VECTORS_MAX`].
pub const SEAL_BYTES_MAX: u64 = 64 << 20;

/// Vectors of one graph at most, and bytes: writing it takes a copy.
pub const GRAPH_VECTORS_MAX: u64 = 1_000_000;
/// See [`GRAPH_VECTORS_MAX`].
pub const GRAPH_BYTES_MAX: u64 = 1 << 30;
