//! The values of fields: by document, in order, counted, or as sets of documents.
//!
//! All data comes from the columns and presence terms of a commit. Strings are ordinals until they are displayed.
//! Spellings of the same value form a *group*. A *rank* numbers values in order across segments. Tables that depend
//! only on a segment are built once and outlive commits. They contain deleted documents, which the commit masks.

mod areas;
mod by_value;
mod column_rows;
mod column_term;
mod columns;
mod commonest;
mod deferred;
mod distinct;
mod distribution;
mod facet_search;
mod field_columns;
mod geo;
mod geo_cells;
mod geo_point;
mod geojson;
mod merged_values;
mod number_column;
mod plane;
mod prepare;
mod ranks;
mod searched_fields;
mod segment_column;
mod segment_fields;
mod select;
mod selection;
mod sort_buckets;
mod string_column;
mod table;
mod warm_up;

pub use areas::{CIRCLE_CORNERS, Region};
pub use column_term::{column_term, compared_form};
pub use columns::{Columns, Value};
pub use deferred::is_deferred;
pub use distinct::Distinct;
pub use distribution::{Distribution, Stats};
pub use facet_search::{FacetHit, FacetQuery};
pub use geo::{COORDINATES, GeoBucket, GeoBuckets};
pub use geo_point::{GeoPoint, distance};
pub use geojson::{BOX_COLUMNS, Shape, bounding_boxes, shapes_of};
pub use prepare::prepare;
pub use searched_fields::{EVERY, FieldUse, FieldUses, SearchedFields};
pub use select::finite;
pub use sort_buckets::{SortBuckets, SortValue};
pub use warm_up::{open_searched, warm_up};

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
