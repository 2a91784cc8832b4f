//! Here is a segment: which docid has each of its documents?

use tantivy::SegmentReader;

use super::schema;
use crate::error::{Error, Result};

/// Marks the place of a deleted document in [`SegmentView::docids`](super::SegmentView::docids).
pub const DELETED: u32 = u32::MAX;

/// Docids by place in a segment, of deleted documents too.
pub(super) fn read_docids(reader: &SegmentReader) -> Result<Vec<u32>> {
    let damaged = |reason: String| {
        Error::internal(format!("segment {} is damaged", reader.segment_id().uuid_string()), reason)
    };
    let column = reader.fast_fields().u64(schema::names::DOCID)?;
    let values = column.values.as_ref();
    if values.num_vals() != reader.max_doc() {
        return Err(damaged(format!("{} docids for {} documents", values.num_vals(), reader.max_doc())));
    }
    // As many at a time as cost little memory: they take twice the room until they are narrow.
    let mut wide = vec![0; DOCIDS_AT_ONCE.min(reader.max_doc() as usize)];
    let mut docids = Vec::with_capacity(reader.max_doc() as usize);
    while docids.len() < reader.max_doc() as usize {
        wide.truncate(reader.max_doc() as usize - docids.len());
        values.get_range(docids.len() as u64, &mut wide);
        for &docid in &wide {
            let narrow = u32::try_from(docid).ok().filter(|&docid| docid != DELETED);
            let doc = docids.len();
            docids.push(narrow.ok_or_else(|| damaged(format!("document {doc} has docid {docid}")))?);
        }
    }
    Ok(docids)
}

/// Docids of a segment that are read in one go.
const DOCIDS_AT_ONCE: usize = 1 << 14;
