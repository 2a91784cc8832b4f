//! Limits on reading requests and on sizes of answers.

/// Maximum bytes of a facet query that can match: values of columns are cut after 468 bytes, and two typos add at most
/// two characters of four bytes.
pub const FACET_QUERY_BYTES_MAX: usize = 512;

/// Distinct documents of other indexes that one answer may show.
pub(super) const FOREIGN_SHOWN_MAX: usize = 10_000;

/// Hits in which an explanation searches for its document.
pub(super) const EXPLAINED_HITS_MAX: usize = 1000;
