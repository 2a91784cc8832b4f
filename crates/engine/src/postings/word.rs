//! Words of the index and their postings lists.

use tantivy::postings::TermInfo;

use crate::fields::FieldId;

/// A word of the index, with its postings lists.
#[derive(Clone)]
pub struct Word {
    /// The analysed word.
    pub text: Box<str>,
    pub(super) lists: Vec<TermList>,
}

/// The postings list of a word in one attribute of one segment.
#[derive(Clone)]
pub(super) struct TermList {
    pub(super) segment: usize,
    pub(super) field: FieldId,
    pub(super) info: TermInfo,
}

impl Word {
    /// Returns the approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.lists.len() * size_of::<TermList>()
    }

    /// Returns an upper bound of the number of documents with the word. Includes deleted documents, and counts a
    /// document once per attribute.
    pub fn frequency_bound(&self) -> u64 {
        self.lists.iter().map(|list| u64::from(list.info.doc_freq)).sum()
    }
}
