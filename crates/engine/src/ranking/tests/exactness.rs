//! 1. An attribute that is the query comes first, then one that begins with it.
//! 2. Words are counted as they were asked for: prefixes and misspellings do not count.
//! 3. Each rule's part in the score is exact.

use serde_json::json;

use super::corpus::{Corpus, ask};

/// Two words of five letters, so that each may be misspelt once.
fn lanterns() -> Corpus {
    Corpus::of_texts(
        json!({}),
        &[
            "amber vases shop",
            "vases amber shop",
            "amber bowl with vases",
            "amber shop",
            "ambers and vasesful",
            "ambr vases",
            "vases",
        ],
    )
}

#[test]
fn rules_decide_one_after_the_other() {
    let corpus = lanterns();
    corpus.expect(
        "amber vases",
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
        corpus.expect_ranks(&ask("amber vases"), docid, ranks);
    }
}
