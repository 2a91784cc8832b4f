//! Scores words of the query that are near each other in a document, in their order.

use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::derivations::{is_known, is_whole};
use super::formula::{
    ATTACHED_PAIR_WEIGHT, NEAR_DISTANCE_MAX, PAIR_STEPS_MAX, PAIR_WEIGHT, score_max, score_of,
};
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{Occurrences, Word};
use crate::query::{DerivationKinds, QueryGraph, Term, TermResolver};

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

/// Returns the different pairs of words at most [`PAIR_STEPS_MAX`] words from each other in the query.
pub(super) fn pairs(resolver: &TermResolver, graph: &QueryGraph, rarities: &FxHashMap<&str, f64>) -> Pairs {
    let nodes = graph.nodes().map(|(_, node)| (resolver.term(node), node.is_attached));
    let singles: Vec<(&Term, bool)> = nodes.filter(|(term, _)| term.parts.is_none()).collect();
    let mut known = FxHashSet::default();
    let mut by_text: FxHashMap<&str, usize> = FxHashMap::default();
    let mut pairs = Pairs::default();
    let all = (1..=PAIR_STEPS_MAX).flat_map(|step| singles.windows(step + 1));
    for words in all {
        let step = words.len() - 1;
        let two = [words[0].0, words[step].0];
        let is_attached = words[1..].iter().all(|(_, is_attached)| *is_attached);
        let [first, second] = two.map(|term| rarities.get(&*term.text).copied());
        let Some(rare) = first.zip(second).map(|(first, second)| first.min(second)) else { continue };
        if two.iter().any(|term| paired(term).is_empty()) {
            continue;
        }
        let [left, right] = two.map(|term| {
            *by_text.entry(&term.text).or_insert_with(|| {
                pairs.words.push(paired(term).into_iter().cloned().collect());
                pairs.words.len() - 1
            })
        });
        if known.insert((left, right)) {
            let weight = if is_attached { ATTACHED_PAIR_WEIGHT } else { PAIR_WEIGHT };
            pairs.pairs.push(Pair { left, right, max: score_max(weight / step as f64, rare), is_attached });
        }
    }
    pairs
}

/// Returns the words that may be a part of a pair: the word as written and its other forms; if the index has none, words
/// at one edit, else at two, without misspelt completions.
fn paired(term: &Term) -> Vec<&Word> {
    if is_known(term) {
        return term.exact().into_iter().chain(term.words(DerivationKinds::FORMS)).collect();
    }
    let whole = |kind, typos| -> Vec<&Word> {
        term.words(kind).iter().filter(|word| is_whole(term, word, typos)).collect()
    };
    let one_typo = whole(DerivationKinds::ONE_TYPO, 1);
    if one_typo.is_empty() { whole(DerivationKinds::TWO_TYPOS, 2) } else { one_typo }
}
