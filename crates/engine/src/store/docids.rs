//! Reads the docids of the documents of a segment.

use tantivy::SegmentReader;

use super::schema;
use crate::error::{Error, Result};

/// Entry of a deleted document in [`SegmentView::docids`](super::SegmentView::docids).
pub const DELETED: u32 = u32::MAX;

/// Reads docids by segment docid, deleted documents included.
pub(super) fn read_docids(reader: &SegmentReader) -> Result<Vec<u32>> {
    let damaged = |reason: String| {
        Error::internal(format!("segment {} is damaged", reader.segment_id().uuid_string()), reason)
    };
    let column = reader.fast_fields().u64(schema::names::DOCID)?;
    let values = column.values.as_ref();
    if values.num_vals() != reader.max_doc() {
        return Err(damaged(format!("{} docids for {} documents", values.num_vals(), reader.max_doc())));
    }
    // Reads blocks of docids: a column of 64-bit numbers would take twice the memory of the result.
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

/// Docids that are read at a time.
const DOCIDS_AT_ONCE: usize = 1 << 14;
