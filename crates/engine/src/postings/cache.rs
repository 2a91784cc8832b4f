//! Cached values of the words of a commit, combined from its segments and shared by all searches.

use std::sync::atomic::AtomicU64;

use equivalent::Equivalent;
use roaring::RoaringBitmap;

use super::by_distance::ByDistance;
use super::field_docs::FieldDocs;
use super::length_codes::FieldLengths;
use super::occurrences::Occurrences;
use super::position_docs::PositionDocs;
use super::side::Side;
use crate::cache::cached;
use crate::fields::FieldId;
use crate::store::bitmap_bytes;

cached! {
    pub(super) WordDocuments: Box<str> => FieldDocs, |word, docs| word.len() + docs.bytes();
    // A prefix, and the number of words that makes it common.
    pub(super) CommonPrefixes: (Box<str>, usize) => bool, |(prefix, _), _| prefix.len();
    pub(super) PrefixDocuments: Box<str> => FieldDocs, |prefix, docs| prefix.len() + docs.bytes();
    pub(super) Positions: PositionsOf<Box<str>> => PositionDocs, |of, docs| of.text().len() + docs.bytes();
    pub(super) WordOccurrences: Box<str> => Occurrences, |word, found| word.len() + found.bytes();
    pub(super) Pairs: (Side, Side) => ByDistance, |(left, right), near| {
        left.text().len() + right.text().len() + near.iter().map(bitmap_bytes).sum::<usize>()
    };
    pub(super) PositionReads: Box<str> => AtomicU64, |word, _| word.len();
    pub(super) OccurrenceReads: Box<str> => AtomicU64, |word, _| word.len();
    pub(super) PairReads: (Side, Side) => AtomicU64, |(left, right), _| left.text().len() + right.text().len();
    pub(super) LengthDocuments: (FieldId, usize) => RoaringBitmap, |_, docs| bitmap_bytes(docs);
    pub(super) LengthsByField: () => Vec<(FieldId, FieldLengths)>, |(), fields| {
        fields.iter().map(|(_, lengths)| lengths.bytes()).sum()
    };
    // A word and the excluded split → the best split: its byte offset, and the number of its first part.
    pub(super) Splits: (Box<str>, Option<usize>) => Option<(usize, usize)>, |(word, _), _| word.len();
}

/// Identifies words with cached positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PositionsOf<T> {
    /// A word.
    Word(T),
    /// All words with a prefix.
    Prefix(T),
    /// As `Prefix`, with all exact positions of an attribute, but only the first of its coarser ones.
    FirstOfPrefix(T),
}

impl<T> PositionsOf<T> {
    /// Returns the word or the prefix.
    pub(super) fn text(&self) -> &T {
        let (Self::Word(text) | Self::Prefix(text) | Self::FirstOfPrefix(text)) = self;
        text
    }
}

impl PositionsOf<&str> {
    /// Makes an owned copy.
    pub(super) fn to_owned(self) -> PositionsOf<Box<str>> {
        match self {
            Self::Word(text) => PositionsOf::Word(text.into()),
            Self::Prefix(text) => PositionsOf::Prefix(text.into()),
            Self::FirstOfPrefix(text) => PositionsOf::FirstOfPrefix(text.into()),
        }
    }
}

impl Equivalent<PositionsOf<Box<str>>> for PositionsOf<&str> {
    fn equivalent(&self, key: &PositionsOf<Box<str>>) -> bool {
        use PositionsOf::{FirstOfPrefix, Prefix, Word};
        match (self, key) {
            (Word(text), Word(key))
            | (Prefix(text), Prefix(key))
            | (FirstOfPrefix(text), FirstOfPrefix(key)) => **text == **key,
            _ => false,
        }
    }
}
