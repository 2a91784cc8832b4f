//! Scores words of the query that are near each other in a document, in their order.

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::formula::{NEAR_DISTANCE_MAX, score_of};
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{Occurrences, Word};
use crate::query::TermResolver;

/// Neighbouring words of the query.
pub(super) struct Pair {
    pub(super) left: Word,
    pub(super) right: Word,
    /// The highest score for words next to each other.
    pub(super) max: u32,
}

/// Returns the scores of documents of `docs` for all pairs: each counts once, in the field with the highest frequency
/// unit that has the words at most [`NEAR_DISTANCE_MAX`] positions apart. `unit_of` returns the frequency unit of a field of
/// a document.
pub(super) fn nearness(
    resolver: &TermResolver,
    pairs: &[Pair],
    unit_of: impl Fn(u32, FieldId) -> u64,
    docs: &RoaringBitmap,
) -> Result<FxHashMap<u32, u32>> {
    let mut occurrences: FxHashMap<&str, Occurrences> = FxHashMap::default();
    for word in pairs.iter().flat_map(|pair| [&pair.left, &pair.right]) {
        if !occurrences.contains_key(&*word.text) {
            occurrences.insert(&word.text, resolver.postings.occurrences([word].into_iter(), docs)?);
        }
    }
    let mut sums: FxHashMap<u32, u32> = FxHashMap::default();
    for pair in pairs {
        let mut best: FxHashMap<u32, u64> = FxHashMap::default();
        let (lefts, rights) = (&occurrences[&*pair.left.text], &occurrences[&*pair.right.text]);
        lefts.each_distance_to(rights, |docid, field: FieldId, distance| {
            if u32::from(distance) <= NEAR_DISTANCE_MAX && resolver.searches(field) {
                let unit = best.entry(docid).or_default();
                *unit = unit_of(docid, field).max(*unit);
            }
        });
        for (docid, unit) in best {
            *sums.entry(docid).or_default() += score_of(pair.max, unit);
        }
    }
    Ok(sums)
}
