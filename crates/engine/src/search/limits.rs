//! How much of a request is looked at, and how much is answered?

/// Bytes of a facet query that can match: values of columns end after 468, and two typos add two characters of four
/// bytes.
pub const FACET_QUERY_BYTES_MAX: usize = 512;
