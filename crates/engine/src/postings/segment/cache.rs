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
    pub(super) docs: GenerationCache<Key, Kept<RoaringBitmap>>,
    pub(super) prefixes: GenerationCache<Box<str>, Kept<PrefixDocs>>,
    pub(super) positions: GenerationCache<Key, Kept<ByField<PositionDocs>>>,
    pub(super) places: GenerationCache<Box<str>, Kept<Occurrences>>,
    pub(super) near: GenerationCache<(Side, Side), Kept<ByField<ByDistance>>>,
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

/// Something worked out when the segment had lost so many documents.
pub(crate) struct Kept<T> {
    pub(crate) lost: u32,
    pub(crate) value: T,
}

/// Documents, borrowed from what is kept unless some had to be masked.
pub(crate) enum Docs {
    Kept(Arc<Kept<RoaringBitmap>>),
    Masked(RoaringBitmap),
}

impl Deref for Docs {
    type Target = RoaringBitmap;

    fn deref(&self) -> &RoaringBitmap {
        match self {
            Self::Kept(kept) => &kept.value,
            Self::Masked(docs) => docs,
        }
    }
}
