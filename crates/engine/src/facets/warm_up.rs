//! Builds tables of columns before the first search of a commit needs them.
//!
//! Only fields that searches have used get tables. A first load of documents builds none, and neither does an index
//! without searches.

use std::collections::BTreeSet;

use super::columns::Columns;
use super::field_columns::FieldColumns;
use super::number_column::NumberColumn;
use super::searched_fields::{FieldUse, FieldUses, POINT, SearchedFields};
use super::segment_column::SegmentColumn;
use super::string_column::StringColumn;
use crate::error::Result;
use crate::store::Snapshot;

/// The tables take at most this part of the cache: the rest is left to the results of searches.
const CACHE_PART: usize = 2;

/// Bytes of a row of a column: its value, and its document among those of the value.
const ROW_BYTES: usize = 8;

/// Bytes of a document in the tables of `_geo`: its point and its place in a cell.
const POINT_BYTES: usize = 24;

/// Opens the columns of the fields that [`warm_up`] builds tables of. Searches of a field wait while its columns are
/// opened, so call it with normal priority. Returns true if there are such fields.
///
/// # Errors
/// Internal if a column cannot be read.
pub fn open_searched(snapshot: &Snapshot) -> Result<bool> {
    let uses = snapshot.attachments().get::<SearchedFields>().all();
    let paths = paths(&uses);
    for path in paths.iter().filter(|path| **path != POINT) {
        Columns::new(snapshot).field(path)?;
    }
    Ok(!paths.is_empty())
}

/// Builds the tables of the fields that searches have sorted, counted or made distinct. Ends early if `stops` returns
/// true. Leaves out tables that would fill more than half of the cache, or more than `bytes_max`. Segments that have their
/// tables from an earlier commit cost nothing.
///
/// # Errors
/// Internal if a column cannot be read.
pub fn warm_up(snapshot: &Snapshot, bytes_max: usize, stops: &dyn Fn() -> bool) -> Result<()> {
    let uses = snapshot.attachments().get::<SearchedFields>().all();
    let half = snapshot.cache().cache().bytes_max() / CACHE_PART;
    let mut room = Room { left: half.min(bytes_max), stops };
    for path in paths(&uses) {
        let is_used = |used: FieldUse| uses.get(&used).is_some_and(|paths| paths.contains(path));
        if path == POINT {
            if is_used(FieldUse::Sort) {
                warm_up_points(snapshot, &mut room)?;
            }
            continue;
        }
        // The columns of a field hold its tables, so each field has its own.
        let field = Columns::new(snapshot).field(path)?;
        if is_used(FieldUse::Sort) || is_used(FieldUse::Distinct) {
            warm_up_values(&field, &mut room);
        }
        if is_used(FieldUse::Count) {
            warm_up_counts(&field, &mut room);
        }
        if is_used(FieldUse::Distinct) || is_used(FieldUse::Count) {
            warm_up_ranks(&field, &mut room)?;
        }
    }
    Ok(())
}

/// Part of the cache that tables may still fill.
struct Room<'a> {
    left: usize,
    stops: &'a dyn Fn() -> bool,
}

impl Room<'_> {
    /// Takes the bytes of a table; false if it may not be built.
    fn take(&mut self, rows: usize, row_bytes: usize) -> bool {
        let bytes = rows.saturating_mul(row_bytes);
        let fits = bytes <= self.left && !(self.stops)();
        self.left -= if fits { bytes } else { 0 };
        fits
    }
}

/// Builds the documents by value.
fn warm_up_values(field: &FieldColumns, room: &mut Room<'_>) {
    for column in numbers_of(field) {
        if room.take(column.column.values.num_vals() as usize, ROW_BYTES) {
            column.by_value();
        }
    }
    for column in strings_of(field) {
        if room.take(column.ords.values.num_vals() as usize, ROW_BYTES) {
            column.by_ord();
        }
    }
}

/// Builds the numbers of documents by value.
fn warm_up_counts(field: &FieldColumns, room: &mut Room<'_>) {
    for column in numbers_of(field) {
        if room.take(column.column.values.num_vals() as usize, ROW_BYTES) {
            column.totals();
        }
    }
    for column in strings_of(field) {
        if room.take(column.len(), ROW_BYTES) {
            column.totals();
        }
    }
}

/// Builds the order of the values of all segments.
fn warm_up_ranks(field: &FieldColumns, room: &mut Room<'_>) -> Result<()> {
    if room.take(strings_of(field).map(StringColumn::len).sum(), ROW_BYTES) {
        field.string_ranks()?;
    }
    if room.take(numbers_of(field).map(|column| column.column.values.num_vals() as usize).sum(), ROW_BYTES) {
        field.number_ranks()?;
    }
    Ok(())
}

fn warm_up_points(snapshot: &Snapshot, room: &mut Room<'_>) -> Result<()> {
    let columns = Columns::new(snapshot);
    for (segment, view) in snapshot.segments().iter().enumerate() {
        if room.take(view.docids.len(), POINT_BYTES) {
            columns.geo_cells(segment)?;
        }
    }
    Ok(())
}

fn numbers_of(field: &FieldColumns) -> impl Iterator<Item = &NumberColumn> {
    field.numbers.iter().map(|SegmentColumn { column, .. }| &**column)
}

fn strings_of(field: &FieldColumns) -> impl Iterator<Item = &StringColumn> {
    field.strings.iter().map(|SegmentColumn { column, .. }| &**column)
}

/// Returns the paths whose tables may be built.
fn paths(uses: &FieldUses) -> BTreeSet<&String> {
    uses.iter().filter(|(used, _)| **used != FieldUse::Search).flat_map(|(_, paths)| paths).collect()
}
