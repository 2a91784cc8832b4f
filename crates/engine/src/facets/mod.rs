//! Here is a field, give me its values: by document, in order, counted, or the documents that hold them.
//!
//! Everything is read from the columns and presence terms of a commit. Strings are ordinals until they
//! are shown; spellings of one value form a *group*; a *rank* numbers values in order across segments.
//! What depends on a segment alone is worked out once for it and outlives commits; deleted documents stay
//! in it and are masked by the commit.

mod by_value;
mod column_term;
mod columns;
mod deferred;
mod distinct;
mod distribution;
mod field_columns;
mod geo;
mod geo_point;
mod levels;
mod merged_values;
mod numbers;
mod order;
mod part;
mod places;
mod plane;
mod prepare;
mod ranks;
mod search;
mod segment_fields;
mod select;
mod shapes;
mod strings;

pub use column_term::column_term;
pub use columns::{Columns, Value};
pub use deferred::is_deferred;
pub use distinct::Distinct;
pub use distribution::{Distribution, Stats};
pub use geo::{GeoBucket, GeoBuckets};
pub use geo_point::{GeoPoint, distance};
pub use order::{SortBuckets, SortValue};
pub use prepare::prepare;
pub use search::{FacetHit, FacetQuery};
pub use shapes::{Area, BORDERS, CIRCLE_CORNERS, Shape, borders, shapes_of};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
