//! What is kept of a segment.

use std::ops::Deref;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::prefix_docs::PrefixDocs;
use crate::fields::FieldId;
use crate::generation_cache::GenerationCache;
use crate::postings::by_distance::ByDistance;
use crate::postings::by_field::ByField;
use crate::postings::occurrences::Occurrences;
use crate::postings::position_docs::PositionDocs;
use crate::postings::side::Side;

/// What is kept of a segment.
#[derive(Default)]
pub(super) struct SegmentCache {
    pub(super) docs: GenerationCache<Key, Cached<RoaringBitmap>>,
    pub(super) prefixes: GenerationCache<Box<str>, Cached<PrefixDocs>>,
    pub(super) positions: GenerationCache<Key, Cached<ByField<PositionDocs>>>,
    pub(super) occurrences: GenerationCache<Box<str>, Cached<Occurrences>>,
    pub(super) near: GenerationCache<(Side, Side), Cached<ByField<ByDistance>>>,
}

#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    Word(Box<str>, FieldId),
    /// All fields.
    AnyField(Box<str>),
    Prefix(Box<str>),
    /// As far as is told apart, and the first after that.
    FirstOfPrefix(Box<str>),
    Length(usize, FieldId),
}

/// Something worked out when the segment had deleted so many documents.
pub(crate) struct Cached<T> {
    pub(crate) deleted: u32,
    pub(crate) value: T,
}

/// Documents, borrowed from what is kept unless some had to be masked.
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
