//! 1. An attribute equal to the query comes first, then one that begins with it.
//! 2. Only words exactly as in the query count: prefixes and misspellings do not.
//! 3. Stop words do not count toward the length of an attribute.
//! 4. Each rule decides only between documents that earlier rules left equal.

use serde_json::json;

use super::corpus::{AMBER_STONES, Corpus, ask};

#[test]
fn rules_decide_one_after_the_other() {
    let corpus = Corpus::of_texts(json!({}), &AMBER_STONES);
    corpus.expect(
        "amber stone",
        &[(1, 0.999339), (2, 0.953042), (3, 0.911376), (6, 0.83179), (5, 0.787919), (4, 0.492424)],
    );
    for (docid, ranks) in [
        (1, "W2/2 T3/3 P4/4 A1/1 S21/21 E2/3 X3/3"),
        (2, "W2/2 T3/3 P3/4 A1/1 S19/21 E1/3 X3/3"),
        (3, "W2/2 T3/3 P2/4 A1/1 S19/21 E1/3 X3/3"),
        (6, "W2/2 T2/3 P4/4 A1/1 S21/21 E1/3 X2/3"),
        (5, "W2/2 T2/3 P3/4 A1/1 S20/21 E1/3 X1/3"),
        (4, "W1/2 T2/2 P1/1 A1/1 S11/11 E2/3 X2/2"),
    ] {
        corpus.expect_ranks(&ask("amber stone"), docid, ranks);
    }
    corpus.expect_ranks(&ask("amber stone "), 5, "W2/2 T1/3 P3/4 A1/1 S20/21 E1/3 X1/3");
}

#[test]
fn equal_attributes_come_before_prefixes_and_words() {
    let corpus = Corpus::of_texts(
        json!({"rankingRules": ["words", "exactness"]}),
        &["gold ring", "gold ring box", "gold rings", "the gold ring", "golden ring", "ring gold"],
    );
    corpus.expect("gold ring", &[(1, 1.0), (2, 0.833333), (4, 0.666667), (6, 0.666667), (3, 0.611111)]);
}

#[test]
fn exactness_may_come_before_typo() {
    let corpus = Corpus::of_texts(
        json!({"rankingRules": ["exactness", "typo"]}),
        &["umbrela", "umbrella stand", "umbrellas", "umbrella"],
    );
    corpus.expect_ids(&ask("umbrella "), &[4, 2, 1, 3]);
    // After exactness, no reading with typos is left.
    corpus.expect_ranks(&ask("umbrella "), 4, "W1/1 E3/3 X2/2 T1/1");
    corpus.expect_ranks(&ask("umbrella "), 1, "W1/1 E1/3 X1/2 T1/2");
}

#[test]
fn stop_words_do_not_make_an_attribute_longer() {
    let corpus = Corpus::of_texts(json!({"stopWords": ["the"]}), &["the river", "river bed"]);
    corpus.expect_ranks(&ask("the river "), 1, "W1/1 T2/2 P1/1 A1/1 S11/11 E3/3 X2/2");
    corpus.expect_ranks(&ask("the river "), 2, "W1/1 T2/2 P1/1 A1/1 S10/11 E1/3 X2/2");
}
