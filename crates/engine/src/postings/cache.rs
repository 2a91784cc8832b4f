//! What is kept about a commit because it was expensive to put together.

use std::sync::atomic::AtomicU64;

use roaring::RoaringBitmap;

use super::by_distance::ByDistance;
use super::field_docs::FieldDocs;
use super::occurrences::Occurrences;
use super::position_docs::PositionDocs;
use super::side::Side;
use crate::fields::FieldId;
use crate::generation_cache::GenerationCache;

/// What is known of a commit, put together from its segments and shared by all searches over it.
#[derive(Default)]
pub(super) struct Cache {
    /// Documents of words.
    pub(super) words: GenerationCache<Box<str>, FieldDocs>,
    /// Whether many words share a beginning.
    pub(super) common: GenerationCache<Box<str>, bool>,
    /// Documents of all words with one beginning.
    pub(super) prefixes: GenerationCache<Box<str>, FieldDocs>,
    /// For how many documents positions of a word were read until now. What is read again and again is worked out for
    /// the whole commit once that would have taken less.
    pub(super) positions_read: GenerationCache<Box<str>, AtomicU64>,
    /// Likewise its places.
    pub(super) occurrences_read: GenerationCache<Box<str>, AtomicU64>,
    /// Likewise distances of two words.
    pub(super) near_read: GenerationCache<(Side, Side), AtomicU64>,
    /// Positions of frequent words and of short beginnings.
    pub(super) positions: GenerationCache<Box<str>, PositionDocs>,
    /// Places of words that are not frequent.
    pub(super) occurrences: GenerationCache<Box<str>, Occurrences>,
    /// Documents where one follows the other, by distance.
    pub(super) near: GenerationCache<(Side, Side), ByDistance>,
    /// Documents by field and number of words there.
    pub(super) lengths: GenerationCache<(FieldId, usize), RoaringBitmap>,
    /// Where a word is best cut in two, as a byte offset; None where it cannot be.
    pub(super) splits: GenerationCache<(Box<str>, Option<usize>), Option<usize>>,
}

/// Bytes of one generation of one cache of a commit; there are at most two of each.
pub(super) const COMMIT_BYTES_MAX: usize = 12 << 20;
