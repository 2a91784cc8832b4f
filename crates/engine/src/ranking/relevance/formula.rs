//! The formula of the ranking rule `relevance`: BM25F in fixed point.
//!
//! 1. The frequency of a term is the sum over attributes of its occurrences, each times the weight of the attribute and
//!    divided by the relative length of the attribute.
//! 2. A document has the best score of the derivations of each term, and the sum of the scores of all terms, reduced by
//!    the share of the query that it lacks.
//! 3. Every intermediate result is a whole number, so that both engines compute the same score in any order of
//!    attributes and documents. Only `+ - * / √` are used on doubles, whose results IEEE 754 defines to the last bit.

use std::sync::LazyLock;

use crate::postings::LENGTHS;
use crate::ranking::score::Rank;

/// Frequencies above this have little effect.
const SATURATION: f64 = 1.2;
/// Effect of the length of an attribute, between 0 and 1.
const LENGTH_EFFECT: f64 = 0.7;
/// Average length of attributes whose occurrences count 1.
const LENGTH_UNIT: f64 = 10.0;
/// Frequency that one occurrence of a word counts in an attribute with weight 1 and average length.
const FREQUENCY_UNIT: f64 = 4096.0;
/// Percentage that an occurrence of another form with the same stem counts.
pub(super) const FORM_PERCENT: u64 = 90;
/// A score of 1.
const SCORE_UNIT: f64 = 4096.0;

/// Weights of the kinds of derivations.
pub(super) mod weights {
    pub(in super::super) const EXACT: f64 = 1.0;
    pub(in super::super) const PREFIX: f64 = 0.6;
    pub(in super::super) const SYNONYM: f64 = 0.8;
    pub(in super::super) const SPLIT: f64 = 0.7;
    pub(in super::super) const ONE_TYPO: f64 = 0.9;
    pub(in super::super) const TWO_TYPOS: f64 = 0.4;
    /// A misspelt word that continues the last query word.
    pub(in super::super) const MISSPELT_PREFIX: f64 = 0.2;
    /// Neighbouring words joined.
    pub(in super::super) const JOINED: f64 = 0.7;
}

/// Weight of a pair of neighbouring query words. It is multiplied by the rarity of the more frequent word, and halved if
/// the query has one word between them.
pub(super) const PAIR_WEIGHT: f64 = 0.8;
/// Weight of a pair that the query writes without a separator, as in Japanese. It is likely a compound or a name.
pub(super) const ATTACHED_PAIR_WEIGHT: f64 = 1.0;
/// Highest score of all pairs with a separator together, as a percentage of the highest scores of the words.
const PAIRS_PERCENT_MAX: u64 = 30;
/// Number of words that the limit of the pairs counts. Long queries have many pairs, but few of them are phrases, so
/// further words do not raise the limit.
const PAIRED_WORDS_MAX: u64 = 4;
/// Largest distance between the words of a pair in the query: 1 for neighbours.
pub(super) const PAIR_STEPS_MAX: usize = 2;
/// Maximum number of documents per universe whose positions are read.
pub(in crate::ranking) const NEARNESS_DOCUMENTS_MAX: usize = 200;
/// Largest distance between two words of a document that counts as near.
pub(super) const NEAR_DISTANCE_MAX: u32 = 3;

/// Factor for the weight of misspelt words if the index contains the word as written.
pub(super) const TYPO_OF_KNOWN_WORD: f64 = 0.25;

/// Ranks per whole score in each half of the scale, so that different scores have different ranks.
const RANKS_PER_SCORE: u32 = 8;

/// A document without any word of the query would lose 1 / `MISSING_DIVISOR` of its score, and one without a part of
/// them loses that part of it.
const MISSING_DIVISOR: u64 = 4;

/// Natural logarithm of a number of at least 1. The result of `f64::ln` differs between machines.
fn ln(value: f64) -> f64 {
    let (mut halvings, mut rest) = (0.0, value);
    while rest >= 2.0 {
        rest /= 2.0;
        halvings += 1.0;
    }
    series(rest) + halvings * *LN_2
}

/// ln x = 2 (y + y³/3 + y⁵/5 + …) with y = (x − 1) / (x + 1), for x from 1 to 2.
fn series(value: f64) -> f64 {
    let y = (value - 1.0) / (value + 1.0);
    let (mut power, mut sum, mut odd) = (y, 0.0, 1.0);
    while odd < 40.0 {
        sum += power / odd;
        power *= y * y;
        odd += 2.0;
    }
    2.0 * sum
}

static LN_2: LazyLock<f64> = LazyLock::new(|| series(2.0));

/// Rarity of a term that `found` of `total` documents contain.
pub(super) fn rarity(total: u64, found: u64) -> f64 {
    ln(1.0 + (total as f64 - found as f64 + 0.5) / (found as f64 + 0.5))
}

/// Weight of an occurrence in an attribute: its length to the power of −3/8. A word in a title says more about a document
/// than a word in a long text.
fn length_weight(average_length: f64) -> f64 {
    let fourth_root = (LENGTH_UNIT / average_length).sqrt().sqrt();
    fourth_root * fourth_root.sqrt()
}

/// Highest score of all pairs with a separator together. `words`: sum of the highest scores of the `count` query words.
pub(super) fn pairs_max(words: u64, count: u64) -> u64 {
    words * PAIRS_PERCENT_MAX * count.min(PAIRED_WORDS_MAX) / (100 * count.max(1))
}

/// Highest score of a pair, reduced so that all pairs, whose sum is `pairs`, count at most `most`.
pub(super) fn limited_pair(max: u32, pairs: u64, most: u64) -> u32 {
    if pairs <= most { max } else { (u64::from(max) * most / pairs) as u32 }
}

/// Frequency of one occurrence in an attribute, by the code of its length.
pub(super) fn frequency_units(weight: f64, average_length: f64) -> Vec<u64> {
    let relative = |words: f64| 1.0 - LENGTH_EFFECT + (LENGTH_EFFECT * words) / average_length;
    let one = weight * FREQUENCY_UNIT * length_weight(average_length);
    let unit = |&words: &u32| (one / relative(f64::from(words))).floor().max(1.0) as u64;
    LENGTHS.iter().map(unit).collect()
}

/// Highest score of a derivation.
pub(super) fn score_max(weight: f64, rarity: f64) -> u32 {
    (weight * rarity * SCORE_UNIT * (SATURATION + 1.0)).floor() as u32
}

/// Score of a derivation with the highest score `max` and this frequency.
pub(super) fn score_of(max: u32, frequency: u64) -> u32 {
    let frequency = frequency as f64;
    // The conversion rounds down. `floor` is a function call on processors that may lack SSE 4.1.
    ((f64::from(max) * frequency) / (frequency + SATURATION * FREQUENCY_UNIT)) as u32
}

/// Reduces the sum of a document by its missing words. `all`: weight of all words of the query; `found`: weight of those
/// that the document has.
pub(super) fn covered(sum: u32, found: u32, all: u32) -> u32 {
    let lost = u64::from(sum) * u64::from(all - found);
    sum - lost.checked_div(MISSING_DIVISOR * u64::from(all)).unwrap_or(0) as u32
}

/// Returns true if [`covered`] is at least `least`, without its division.
pub(super) fn is_covered(sum: u32, found: u32, all: u32, least: u32) -> bool {
    sum >= least
        && u64::from(sum) * u64::from(all - found)
            < u64::from(sum - least + 1) * (MISSING_DIVISOR * u64::from(all.max(1)))
}

/// Converts a score between 0 and `max` to a rank, proportional to (1 + ∜(score / max)) / 2. The root spreads the scores:
/// most are far below the highest, because few documents have all words often. Hybrid searches compare the rank with
/// similarities of vectors, (1 + cosine) / 2, which have the same scale.
pub(in crate::ranking) fn rank(score: u32, max: u32) -> Rank {
    let half = RANKS_PER_SCORE * max.max(1);
    let part = f64::from(score.min(max)) / f64::from(max.max(1));
    Rank { rank: half + (f64::from(half) * part.sqrt().sqrt()).floor() as u32, max: 2 * half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_close_to_the_standard_library() {
        for value in [1.0, 1.5, 2.0, 3.0, 10.0, 1e6, 4e9] {
            let difference = (ln(value) - f64::ln(value)).abs();
            assert!(difference < 1e-12, "ln {value} differs by {difference}");
        }
    }

    #[test]
    fn different_scores_have_different_ranks() {
        for max in [7, 5000, 60_000_000] {
            let ranks = [0, 1, max / 2, max - 1, max].map(|score| rank(score, max));
            assert!(ranks.is_sorted_by_key(|rank| rank.rank));
            assert_eq!((ranks[0].score(), ranks[4].score()), (0.5, 1.0));
            assert!(ranks[3].rank < ranks[4].rank);
        }
    }

    #[test]
    fn all_pairs_count_at_most_a_part_of_the_words() {
        assert_eq!(pairs_max(1000, 2), 300);
        assert_eq!(pairs_max(1000, 8), 150);
        assert_eq!(limited_pair(50, 300, 300), 50);
        assert_eq!(limited_pair(50, 600, 300), 25);
    }

    #[test]
    fn missing_words_reduce_a_score() {
        assert_eq!(covered(1000, 0, 10), 750);
        assert_eq!(covered(1000, 4, 10), 850);
        assert_eq!(covered(1000, 10, 10), 1000);
    }

    #[test]
    fn a_comparison_needs_no_division() {
        let cases = [0, 1, 2, 749, 750, 751, 999, 1000, 1001, 59_999_999, 60_000_000];
        for (sum, all) in cases.into_iter().flat_map(|sum| [0, 1, 7, 60_000_000].map(|all| (sum, all))) {
            for found in [0, all / 3, all - all / 3, all] {
                let score = covered(sum, found, all);
                for least in cases.into_iter().chain([score.saturating_sub(1), score, score + 1]) {
                    assert_eq!(
                        is_covered(sum, found, all, least),
                        score >= least,
                        "{sum} {found} {all} {least}"
                    );
                }
            }
        }
    }

    #[test]
    fn occurrences_in_longer_attributes_weigh_less() {
        assert_eq!(length_weight(LENGTH_UNIT), 1.0);
        assert!(length_weight(2.0) > 1.0 && length_weight(100.0) < 0.5);
    }

    #[test]
    fn rarer_and_more_frequent_words_score_higher() {
        assert!(rarity(1000, 1) > rarity(1000, 2));
        assert!(rarity(1000, 1000) > 0.0);
        let max = score_max(1.0, rarity(1000, 1));
        assert!(score_of(max, 8192) > score_of(max, 4096));
        assert!(score_of(max, u64::from(u32::MAX)) <= max);
    }
}
