//! A column of one segment, and several of them built by several threads.

use std::sync::Arc;

use crate::threads::{in_parallel, shared_out};

/// A column of a segment.
pub(super) struct SegmentColumn<C> {
    /// Its place in the commit.
    pub segment: usize,
    pub column: Arc<C>,
}

/// Columns of fewer documents are no work for a thread.
const SHARED_DOCUMENTS_MIN: u32 = 1 << 15;

/// Has several threads do `work` on large columns, if it is `due` for several of them: they keep what comes of it, so it
/// is there for who asks them in turn. `due` gives how many documents a column has.
pub(super) fn build_in_parallel<C: Sync>(
    columns: impl Iterator<Item = C>,
    due: impl Fn(&C) -> Option<u32>,
    work: impl Fn(&C) + Sync,
) {
    let documents = |column: C| Some((due(&column).filter(|docs| *docs >= SHARED_DOCUMENTS_MIN)?, column));
    let large: Vec<(u32, C)> = columns.filter_map(documents).collect();
    if large.len() > 1 {
        in_parallel(&shared_out(large), |share| share.iter().for_each(&work));
    }
}
