//! A column of one segment, and tables of several columns built by several threads.

use std::sync::Arc;

use crate::threads::{in_parallel, shared_out};

/// A column and the segment it belongs to.
pub(super) struct SegmentColumn<C> {
    /// The segment's position in the commit.
    pub segment: usize,
    pub column: Arc<C>,
}

/// Columns of fewer documents are built faster than a thread starts.
const SHARED_DOCUMENTS_MIN: u32 = 1 << 15;

/// Has several threads `build` a table of each large column that lacks it, if several columns do. Columns cache their
/// tables, so a caller that then asks one column after another waits for none. `missing` gives the number of a column's
/// documents, or `None` if its table is cached.
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
