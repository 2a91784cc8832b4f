//! A column of a segment. Builds the tables of several columns on several threads.

use std::sync::Arc;

use crate::threads::{in_parallel, shared_out};

/// A column and its segment.
pub(super) struct SegmentColumn<C> {
    /// Position of the segment in the commit.
    pub segment: usize,
    pub column: Arc<C>,
}

/// Columns with fewer documents are built faster than a thread starts.
const SHARED_DOCUMENTS_MIN: u32 = 1 << 15;

/// Builds the missing tables of large columns on several threads, if there are at least two. The columns cache them, so
/// the caller finds them when it reads one column after another. `missing` returns the number of documents of a column,
/// or `None` if its table is cached.
pub(super) fn build_in_parallel<C: Sync>(
    columns: impl Iterator<Item = C>,
    missing: impl Fn(&C) -> Option<u32>,
    build: impl Fn(&C) + Sync,
) {
    let documents =
        |column: C| Some((missing(&column).filter(|docs| *docs >= SHARED_DOCUMENTS_MIN)?, column));
    let large: Vec<(u32, C)> = columns.filter_map(documents).collect();
    if large.len() > 1 {
        in_parallel(&shared_out(large), |share| share.iter().for_each(&build));
    }
}
