//! What is kept about a commit because it was expensive to put together.

use std::sync::atomic::AtomicU64;

use roaring::RoaringBitmap;

use super::{ByDistance, FieldDocs, Occurrences, PositionDocs, Side};
use crate::fields::FieldId;
use crate::generations::Generations;

/// What is known of a commit, put together from its segments and shared by all searches over it.
#[derive(Default)]
pub(super) struct Cache {
    /// Documents of words.
    pub(super) words: Generations<Box<str>, FieldDocs>,
    /// Whether many words share a beginning.
    pub(super) common: Generations<Box<str>, bool>,
    /// Documents of all words with one beginning.
    pub(super) prefixes: Generations<Box<str>, FieldDocs>,
    /// For how many documents positions of a word were read until now. What is read again and again is worked out for
    /// the whole commit once that would have taken less.
    pub(super) positions_read: Generations<Box<str>, AtomicU64>,
    /// Likewise its places.
    pub(super) places_read: Generations<Box<str>, AtomicU64>,
    /// Likewise distances of two words.
    pub(super) near_read: Generations<(Side, Side), AtomicU64>,
    /// Positions of frequent words and of short beginnings.
    pub(super) positions: Generations<Box<str>, PositionDocs>,
    /// Places of words that are not frequent.
    pub(super) places: Generations<Box<str>, Occurrences>,
    /// Documents where one follows the other, by distance.
    pub(super) near: Generations<(Side, Side), ByDistance>,
    /// Documents by field and number of words there.
    pub(super) lengths: Generations<(FieldId, usize), RoaringBitmap>,
    /// Where a word is best cut in two, as a byte offset; None where it cannot be.
    pub(super) cuts: Generations<(Box<str>, Option<usize>), Option<usize>>,
}

/// Bytes of one generation of one cache of a commit; there are at most two of each.
pub(super) const COMMIT_BYTES_MAX: usize = 12 << 20;
