//! Bounds of what ranking works on at once.

/// Documents whose costs are laid out at once.
pub(in crate::ranking) const TABLE_DOCUMENTS_MAX: usize = 1 << 15;

/// Cells (documents × edges) laid out at once.
pub(in crate::ranking) const CELLS_MAX: usize = 1 << 21;

/// Fewer documents are put in all their buckets at once. Measured: 150 and 1,024 take 1 and 5 % more instructions.
pub(in crate::ranking) const LAZY_DOCUMENTS_MIN: u64 = 400;

/// CostTable that are looked up in a set one by one: beyond, sets are intersected.
pub(in crate::ranking) const LOOK_UPS_MAX: usize = 64;

/// DerivationKinds of documents from which rows are quicker than sets.
pub(in crate::ranking) const COST_GROUPS_MAX: usize = 128;
