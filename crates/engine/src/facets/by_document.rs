//! A table of a segment's values by document.

use tantivy::DocId;

use super::column_rows::AllOrSome;
use crate::cache::cached;

cached! {
    pub(super) ValuesByDocument: () => ByDocument, |_, table| table.bytes();
}

/// Document → its values, in the order they were written. Reading it is quicker than reading a column, which looks up
/// the rows of each document.
pub(super) struct ByDocument {
    /// Document → index of its first value; the last entry is the number of values.
    starts: Vec<u32>,
    values: Vec<u32>,
}

/// A table is built once a read covers one in this many documents of a segment.
const TABLE_SHARE: usize = 8;

/// Segments of more documents get no table: building it would delay the search that asks first.
const TABLE_DOCS_MAX: u32 = 1 << 18;

impl ByDocument {
    /// Whether reading `asked` of a segment of `docs` documents pays for building its table.
    pub fn is_worth(docs: u32, asked: AllOrSome<'_>) -> bool {
        match asked {
            AllOrSome::All(_) => false,
            AllOrSome::Some(asked) => docs <= TABLE_DOCS_MAX && asked.len() * TABLE_SHARE >= docs as usize,
        }
    }

    /// Collects what `each` passes on: every document with every value, by ascending document.
    pub fn new(docs: u32, each: impl FnOnce(&mut dyn FnMut(DocId, u32))) -> Self {
        let (mut starts, mut values) = (Vec::with_capacity(docs as usize + 1), Vec::new());
        each(&mut |doc, value| {
            starts.resize((doc as usize + 1).max(starts.len()), values.len() as u32);
            values.push(value);
        });
        starts.resize(docs as usize + 1, values.len() as u32);
        Self { starts, values }
    }

    /// Calls `visit` with document and value of every value of `docs`.
    pub fn each(&self, docs: &[DocId], mut visit: impl FnMut(DocId, u32)) {
        for &doc in docs {
            let range = self.starts[doc as usize] as usize..self.starts[doc as usize + 1] as usize;
            for &value in &self.values[range] {
                visit(doc, value);
            }
        }
    }

    pub fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.values.len())
    }
}
