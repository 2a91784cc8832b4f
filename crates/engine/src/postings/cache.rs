//! Values cached with a commit because they are expensive to compute.

use std::sync::atomic::AtomicU64;

use roaring::RoaringBitmap;

use super::by_distance::ByDistance;
use super::field_docs::FieldDocs;
use super::occurrences::Occurrences;
use super::position_docs::PositionDocs;
use super::side::Side;
use crate::fields::FieldId;
use crate::generation_cache::GenerationCache;

/// Values computed from the segments of a commit, shared by all searches over it.
#[derive(Default)]
pub(super) struct Cache {
    /// Documents of words, by word.
    pub(super) words: GenerationCache<Box<str>, FieldDocs>,
    /// Whether a prefix is that of many words.
    pub(super) common: GenerationCache<Box<str>, bool>,
    /// Documents of all words with a prefix.
    pub(super) prefixes: GenerationCache<Box<str>, FieldDocs>,
    /// By word, the number of documents whose positions were read one by one so far. Once reading them for
    /// the whole commit would have taken less time, that is done and cached in `positions`.
    pub(super) positions_read: GenerationCache<Box<str>, AtomicU64>,
    /// The corresponding count for `occurrences`.
    pub(super) occurrences_read: GenerationCache<Box<str>, AtomicU64>,
    /// The corresponding count for `near`, by pair.
    pub(super) near_read: GenerationCache<(Side, Side), AtomicU64>,
    /// Positions of frequent words and of short prefixes.
    pub(super) positions: GenerationCache<Box<str>, PositionDocs>,
    /// Occurrences of words that are not frequent.
    pub(super) occurrences: GenerationCache<Box<str>, Occurrences>,
    /// Documents where the right side follows the left one, by distance.
    pub(super) near: GenerationCache<(Side, Side), ByDistance>,
    /// Documents by field and number of words in it.
    pub(super) lengths: GenerationCache<(FieldId, usize), RoaringBitmap>,
    /// The byte offset at which a word is best split in two; `None` if there is none.
    pub(super) splits: GenerationCache<(Box<str>, Option<usize>), Option<usize>>,
}

/// Bytes of one generation of each cache of a commit; each has at most two generations.
pub(super) const COMMIT_BYTES_MAX: usize = 12 << 20;
