//! A word of the index, and where its postings lie.

use tantivy::postings::TermInfo;

use crate::fields::FieldId;

/// A word of the index, and where its postings lie.
#[derive(Clone)]
pub struct Word {
    /// The word as analysis left it.
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
    /// Approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.lists.len() * size_of::<TermList>()
    }

    /// An upper bound of the number of documents that hold the word: deleted documents count, and documents
    /// count once per attribute.
    pub fn frequency_bound(&self) -> u64 {
        self.lists.iter().map(|list| u64::from(list.info.doc_freq)).sum()
    }
}
