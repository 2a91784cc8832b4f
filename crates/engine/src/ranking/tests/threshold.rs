//! 1. Once the rules so far score a bucket below the threshold, it and all later buckets of that rule are excluded.
//! 2. The excluded documents read so far do not count as candidates either.

use serde_json::json;

use super::corpus::{AMBER_STONES, Ask, Corpus, ask};

#[test]
fn documents_below_the_threshold_are_excluded() {
    let corpus = Corpus::of_texts(json!({}), &AMBER_STONES);
    for (threshold, limit, ids, total) in [
        (0.9, 20, &[1, 2, 3][..], 3),
        (0.9, 1, &[1], 6),
        (0.7, 20, &[1, 2, 3, 6, 5], 5),
        (0.96, 2, &[1], 1),
        (0.0, 20, &[1, 2, 3, 6, 5, 4], 6),
        (1.0, 20, &[], 0),
    ] {
        let ask = Ask { threshold: Some(threshold), limit, ..ask("amber stone") };
        corpus.expect_ids(&ask, ids);
        assert_eq!(corpus.answer(&ask).candidates.len(), total, "{threshold} {limit}");
    }
}
