//! Here is a field, give me its values: by document, in order, counted, or the documents that hold them.
//!
//! Everything is read from the columns and presence terms of a commit. Strings are ordinals until they
//! are shown; values that differ only in spelling form one *group*, numbered in order across segments.

mod columns;
mod distribution;
mod geo;
mod groups;
mod order;
mod search;
mod select;

pub use columns::{Columns, Value};
pub use distribution::{Distribution, Stats};
pub use geo::{GeoBucket, GeoBuckets, GeoPoint, distance};
pub use groups::Keys;
pub use order::{SortBuckets, SortValue};
pub use search::{FacetHit, FacetQuery};

#[cfg(test)]
mod tests;
