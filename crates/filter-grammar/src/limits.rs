//! Limits of a filter.

/// Nesting limit of a filter: each pair of parentheses counts 4, each `NOT` 1 and a condition 3.
/// Source: Meilisearch's filter parser.
pub const DEPTH_MAX: usize = 150;

/// Maximum number of fields, values and numbers in a filter. Each takes about 100 bytes, regardless of its length.
pub const TEXTS_MAX: usize = 100_000;
