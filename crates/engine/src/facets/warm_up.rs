//! Builds tables of columns before the first search of a commit needs them.
//!
//! Only fields that an earlier search has read get tables. A first load of documents builds none, and neither does an index
//! without searches.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use super::columns::Columns;
use super::segment_fields::SegmentFields;
use crate::error::Result;
use crate::fields::is_same_or_below;
use crate::settings::{FilterableRule, Settings};
use crate::store::Snapshot;

/// The tables take at most this part of the cache: the rest is left to the results of searches.
const CACHE_PART: usize = 2;

/// Bytes of a row of a column: its value, and its document among those of the value.
const ROW_BYTES: usize = 8;

/// Bytes of a document in the tables of `_geo`: its point and its place in a cell.
const POINT_BYTES: usize = 24;

/// Returns true if [`warm_up`] builds tables for these settings.
pub fn wants_warm_up(settings: &Settings) -> bool {
    let sorts = |rule: &String| sorted_field(rule).is_some();
    !settings.sortable_attributes.is_empty()
        || settings.distinct_attribute.is_some()
        || uses_points(settings)
        || settings.ranking_rules.iter().any(sorts)
}

/// Builds the tables of sorted fields, of the distinct attribute and of `_geo`. Ends early if `stop` is set. Leaves out
/// tables that would fill more than half of the cache. Segments that have their tables from an earlier commit cost nothing.
///
/// # Errors
/// Internal if a column cannot be read.
pub fn warm_up(snapshot: &Snapshot, stop: &AtomicBool) -> Result<()> {
    let settings = snapshot.settings();
    let mut left = snapshot.cache().cache().bytes_max() / CACHE_PART;
    let mut may_build = |rows: usize, row_bytes: usize| {
        let fits = rows.saturating_mul(row_bytes) <= left && !stop.load(Ordering::Relaxed);
        left -= if fits { rows * row_bytes } else { 0 };
        fits
    };
    for path in fields_in_order(snapshot) {
        // The columns of a field hold its tables, so each field has its own.
        let field = Columns::new(snapshot).field(&path)?;
        for column in field.numbers.iter().map(|part| &part.column) {
            if may_build(column.column.values.num_vals() as usize, ROW_BYTES) {
                column.by_value();
            }
        }
        for column in field.strings.iter().map(|part| &part.column) {
            if may_build(column.ords.values.num_vals() as usize, ROW_BYTES) {
                column.by_ord();
            }
        }
        if settings.distinct_attribute.as_ref() == Some(&path) && !stop.load(Ordering::Relaxed) {
            field.string_ranks()?;
            field.number_ranks()?;
        }
    }
    if uses_points(settings) {
        let columns = Columns::new(snapshot);
        let segments = snapshot.segments();
        let is_used = (0..segments.len()).any(|segment| columns.has_geo_cells(segment));
        for (segment, view) in segments.iter().enumerate().filter(|_| is_used) {
            if may_build(view.docids.len(), POINT_BYTES) {
                columns.geo_cells(segment)?;
            }
        }
    }
    Ok(())
}

/// Returns the fields in use that searches may sort by, and the distinct attribute if it is in use.
fn fields_in_order(snapshot: &Snapshot) -> BTreeSet<String> {
    let settings = snapshot.settings();
    let rules = settings.ranking_rules.iter().filter_map(|rule| sorted_field(rule));
    let exact = rules.chain(settings.distinct_attribute.as_deref());
    let mut fields: BTreeSet<String> = exact.map(str::to_owned).collect();
    let is_sortable = |field: &&str| {
        settings.sortable_attributes.iter().any(|name| is_same_or_below(name, field))
            && !is_same_or_below("_geo", field)
    };
    fields.extend(snapshot.fields().names().filter(is_sortable).map(str::to_owned));
    // A segment keeps its open columns from commit to commit.
    let is_used = |path: &String| {
        snapshot.segments().iter().any(|view| view.attachments().get::<SegmentFields>().is_open(path))
    };
    fields.retain(is_used);
    fields
}

/// Returns the field of a ranking rule such as `year:desc`.
fn sorted_field(rule: &str) -> Option<&str> {
    rule.rsplit_once(':')
        .filter(|(_, direction)| matches!(*direction, "asc" | "desc"))
        .map(|(field, _)| field)
}

fn uses_points(settings: &Settings) -> bool {
    settings.sortable_attributes.iter().any(|name| name == "_geo")
        || settings
            .filterable_attributes
            .iter()
            .any(|rule| matches!(rule, FilterableRule::Field(name) if name == "_geo"))
}
