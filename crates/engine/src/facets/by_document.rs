//! Values of a segment, side by side by document.

use tantivy::DocId;

use super::column_rows::AllOrSome;

/// The same side by side by document, in the order they were written: quicker to read than a column of which
/// each document has to be looked up.
pub(super) struct ByDocument {
    /// Where the values of a document begin, and one more for the end of the last.
    starts: Vec<u32>,
    values: Vec<u32>,
}

/// A table is made once so many of a segment's documents are asked for, as one in this.
const TABLE_SHARE: usize = 8;

/// Segments of more documents have none: making it would keep one search waiting.
const TABLE_DOCS_MAX: u32 = 1 << 18;

impl ByDocument {
    /// Whether a table of a segment of `docs` documents is worth its while for those that are asked for.
    pub fn is_worth(docs: u32, asked: AllOrSome<'_>) -> bool {
        match asked {
            AllOrSome::All(_) => false,
            AllOrSome::Some(asked) => docs <= TABLE_DOCS_MAX && asked.len() * TABLE_SHARE >= docs as usize,
        }
    }

    /// `each` calls back with each document and value, by ascending document.
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
            let place = self.starts[doc as usize] as usize..self.starts[doc as usize + 1] as usize;
            for &value in &self.values[place] {
                visit(doc, value);
            }
        }
    }

    pub fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.values.len())
    }
}
