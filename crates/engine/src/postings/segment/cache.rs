//! Values cached with a segment, and borrowed from there.

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

/// Values computed from a segment, shared by all searches and commits that read it.
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
    /// A word in all fields.
    AnyField(Box<str>),
    Prefix(Box<str>),
    /// A prefix at positions below `EXACT_POSITIONS`, and at the first one beyond them.
    FirstOfPrefix(Box<str>),
    Length(usize, FieldId),
}

/// A value computed when the segment had this many deleted documents. Later deletions are masked when it is
/// read.
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
