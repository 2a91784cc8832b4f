//! Cached values of a segment.

use std::ops::Deref;
use std::sync::Arc;

use equivalent::Equivalent;
use roaring::RoaringBitmap;

use super::prefix_docs::PrefixDocs;
use crate::analysis::Stemmer;
use crate::cache::cached;
use crate::fields::FieldId;
use crate::postings::by_distance::{ByDistance, near_bytes};
use crate::postings::by_field::ByField;
use crate::postings::cache::PositionsOf;
use crate::postings::endings::Endings;
use crate::postings::length_codes::Codes;
use crate::postings::occurrences::Occurrences;
use crate::postings::position_docs::{PositionDocs, positions_bytes};
use crate::postings::side::Side;
use crate::postings::stems::Stems;
use crate::store::bitmap_bytes;

cached! {
    pub(super) SegmentDocuments: DocumentsOf<Box<str>> => Cached<RoaringBitmap>, |of, docs| {
        of.text_bytes() + bitmap_bytes(&docs.value)
    };
    pub(super) SegmentPrefixes: Box<str> => Cached<PrefixDocs>, |prefix, docs| prefix.len() + docs.value.bytes();
    pub(super) SegmentPositions: PositionsOf<Box<str>> => Cached<ByField<PositionDocs>>, |of, docs| {
        of.text().len() + positions_bytes(&docs.value)
    };
    // By prefix.
    pub(super) SegmentOccurrences: Box<str> => Cached<Occurrences>, |prefix, found| {
        prefix.len() + found.value.bytes()
    };
    pub(super) SegmentLengths: () => Cached<ByField<Codes>>, |(), lengths| {
        lengths.value.iter().map(|(_, codes)| codes.bytes()).sum()
    };
    pub(super) SegmentStems: Stemmer => Stems, |_, stems| stems.bytes();
    pub(super) SegmentEndings: () => Endings, |(), endings| endings.bytes();
    // Left and right.
    pub(super) SegmentPairs: (Side, Side) => Cached<ByField<ByDistance>>, |(left, right), near| {
        left.text().len() + right.text().len() + near_bytes(&near.value)
    };
}

/// Key of a set of documents of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum DocumentsOf<T> {
    /// A word in a field.
    Word(T, FieldId),
    /// Number of words in a field.
    Length(usize, FieldId),
}

impl DocumentsOf<Box<str>> {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Word(word, _) => word.len(),
            Self::Length(..) => 0,
        }
    }
}

impl DocumentsOf<&str> {
    /// Makes an owned copy.
    pub(super) fn to_owned(&self) -> DocumentsOf<Box<str>> {
        match *self {
            Self::Word(word, field) => DocumentsOf::Word(word.into(), field),
            Self::Length(words, field) => DocumentsOf::Length(words, field),
        }
    }
}

impl Equivalent<DocumentsOf<Box<str>>> for DocumentsOf<&str> {
    fn equivalent(&self, key: &DocumentsOf<Box<str>>) -> bool {
        use DocumentsOf::{Length, Word};
        match (self, key) {
            (Word(word, field), Word(key, key_field)) => **word == **key && field == key_field,
            (Length(words, field), Length(key, key_field)) => (words, field) == (key, key_field),
            _ => false,
        }
    }
}

/// A value, and the number of deleted documents of the segment when it was computed. Later deletions are masked on
/// reading.
pub(crate) struct Cached<T> {
    pub(crate) deleted: u32,
    pub(crate) value: T,
}

/// Live documents: the cached bitmap itself, or a masked copy if documents were deleted since it was
/// computed.
pub(crate) enum Docs {
    Cached(Arc<Cached<RoaringBitmap>>),
    Masked(RoaringBitmap),
}

impl Deref for Docs {
    type Target = RoaringBitmap;

    fn deref(&self) -> &RoaringBitmap {
        match self {
            Self::Cached(cached) => &cached.value,
            Self::Masked(docs) => docs,
        }
    }
}
