//! Scores words of the query that are near each other in a document, in their order.

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::formula::{NEAR_DISTANCE_MAX, score_of};
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{Occurrences, Word};
use crate::query::TermResolver;

/// Neighbouring words of the query, as indexes into the words of all terms.
pub(super) struct Pair {
    pub(super) left: usize,
    pub(super) right: usize,
    /// The highest score for words next to each other.
    pub(super) max: u32,
    /// True if the query writes both words without a separator.
    pub(super) is_attached: bool,
}

/// Neighbouring words of the query, and the words of the index that may stand for them.
#[derive(Default)]
pub(super) struct Pairs {
    /// By term.
    pub(super) words: Vec<Vec<Word>>,
    pub(super) pairs: Vec<Pair>,
}

impl Pairs {
    /// Returns the scores of documents of `docs` for all pairs. A pair counts once per document: in the field with the
    /// highest frequency unit among those where its words are at most [`NEAR_DISTANCE_MAX`] positions apart. `unit_of`
    /// returns the frequency unit of a field of a document.
    pub(super) fn scores(
        &self,
        resolver: &TermResolver,
        unit_of: impl Fn(u32, FieldId) -> u64,
        docs: &RoaringBitmap,
    ) -> Result<FxHashMap<u32, u32>> {
        let read = |words: &Vec<Word>| resolver.postings.occurrences(words.iter(), docs);
        let occurrences: Vec<Occurrences> = self.words.iter().map(read).collect::<Result<_>>()?;
        let mut sums: FxHashMap<u32, u32> = FxHashMap::default();
        for pair in &self.pairs {
            let mut best: FxHashMap<u32, u64> = FxHashMap::default();
            occurrences[pair.left].each_distance_to(&occurrences[pair.right], |docid, field, distance| {
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
}
