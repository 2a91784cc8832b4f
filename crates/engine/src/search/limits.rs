//! Limits on reading requests and on sizes of answers.

/// Maximum bytes of a facet query that can match: values of columns are cut after 468 bytes, and two typos add at most
/// two characters of four bytes.
pub const FACET_QUERY_BYTES_MAX: usize = 512;

/// Distinct documents of other indexes that one answer may show.
pub(super) const FOREIGN_SHOWN_MAX: usize = 10_000;

/// Groups of documents of the same weight, each ranked separately. Actions that would make more are ignored.
pub(super) const SCALED_PARTS_MAX: usize = 100;

/// Range of the total weight of documents that rules do not hide. Source: the API's page on version 1.57.
pub(super) const TOTAL_WEIGHTS: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// Hits in which an explanation searches for its document.
pub(super) const EXPLAINED_HITS_MAX: usize = 1000;
