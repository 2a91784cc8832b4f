//! Reads the rows of a column block by block.

use tantivy::DocId;
use tantivy::columnar::{Column, ColumnIndex};

/// The documents whose rows are read.
#[derive(Clone, Copy)]
pub(super) enum AllOrSome<'a> {
    /// All documents below a number.
    All(u32),
    /// These documents, in any order.
    Some(&'a [DocId]),
}

/// Documents whose rows are read together: such a block fits into a processor cache.
pub(super) const BLOCK: usize = 1024;

/// Calls `take` with a block of documents and their rows in parallel lists. The rows of a document are adjacent.
pub(super) fn each_block(index: &ColumnIndex, docs: AllOrSome<'_>, take: &mut dyn FnMut(&[DocId], &[u32])) {
    let (mut of_row, mut rows) = (Vec::new(), Vec::new());
    let mut block = |docs: &[DocId]| {
        if matches!(index, ColumnIndex::Full) {
            return take(docs, docs);
        }
        of_row.clear();
        rows.clear();
        index.docids_to_rowids(docs, &mut of_row, &mut rows);
        take(&of_row, &rows);
    };
    match docs {
        AllOrSome::Some(docs) => docs.chunks(BLOCK).for_each(block),
        AllOrSome::All(end) => {
            let mut docs: Vec<DocId> = Vec::with_capacity(BLOCK);
            for start in (0..end).step_by(BLOCK) {
                docs.clear();
                docs.extend(start..end.min(start + BLOCK as u32));
                block(&docs);
            }
        }
    }
}

/// A column with numbered values: ordinals of strings, or indexes into distinct numbers.
pub(super) trait EachValue {
    /// Calls `visit` with document and value, for each value of `docs`.
    fn each(&self, docs: AllOrSome<'_>, visit: impl FnMut(DocId, u32));
}

/// Calls `visit` with document and ordinal, for each string of `docs`.
pub(super) fn each_ord(column: &Column<u64>, docs: AllOrSome<'_>, mut visit: impl FnMut(DocId, u32)) {
    let mut ords = Vec::new();
    each_block(&column.index, docs, &mut |docs, rows| {
        ords.resize(rows.len(), 0);
        column.values.get_vals(rows, &mut ords);
        for (&doc, &ord) in docs.iter().zip(&ords) {
            visit(doc, ord as u32);
        }
    });
}
