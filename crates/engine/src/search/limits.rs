//! How much of a request is read, and how much is answered?

/// The most bytes of a facet query that can match: values of columns are cut after 468 bytes, and two typos add at most
/// two characters of four bytes.
pub const FACET_QUERY_BYTES_MAX: usize = 512;

/// Distinct documents of other indexes that one answer may show.
pub(super) const FOREIGN_SHOWN_MAX: usize = 10_000;

/// Hits among which an explanation looks for its document.
pub(super) const EXPLAINED_HITS_MAX: usize = 1000;
