//! Limits on how much ranking processes at once.

/// Documents in one table of costs.
pub(in crate::ranking) const TABLE_DOCUMENTS_MAX: usize = 1 << 15;

/// Cells (documents × edges) in one table of costs.
pub(in crate::ranking) const CELLS_MAX: usize = 1 << 21;

/// Below this number of documents, all buckets are computed at once. Measured: 150 and 1,024 need 1 and 5 % more
/// instructions.
pub(in crate::ranking) const LAZY_DOCUMENTS_MIN: u64 = 400;

/// Up to this number of documents, each is looked up in a set; larger sets are intersected.
pub(in crate::ranking) const LOOK_UPS_MAX: usize = 64;

/// From this number of groups on, a table is faster than sets.
pub(in crate::ranking) const COST_GROUPS_MAX: usize = 128;
