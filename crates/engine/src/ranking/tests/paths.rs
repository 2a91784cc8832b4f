//! 1. The maximum of a rule is that of the readings left by the rules before it.
//! 2. A document with two readings counts for the cheaper one; between equal ones, for the first.
//! 3. The number of readings does not slow a search down.

use serde_json::json;

use super::corpus::{Corpus, ask};

#[test]
fn the_maximum_counts_only_the_remaining_readings() {
    // Document 2 is read with two words joined: proximity then compares two nodes, not three.
    let corpus = Corpus::of_texts(json!({}), &["book store clerk", "bookstore clerk", "book"]);
    corpus.expect_ranks(&ask("book store clerk "), 1, "W3/3 T5/5 P7/7 A1/1 S31/31 E3/3 X4/4");
    corpus.expect_ranks(&ask("book store clerk "), 2, "W3/3 T3/5 P4/5 A1/1 S29/31 E1/3 X2/4");
    corpus.expect_ranks(&ask("book store clerk "), 3, "W1/3 T2/2 P1/1 A1/1 S11/11 E3/3 X2/2");
}

#[test]
fn ten_repeated_words_are_fast() {
    let words = ["lantern", "lantren", "lanterns", "antern"];
    let texts: Vec<String> = (0..40u32)
        .map(|n| (0..30u32).map(|k| words[((n * 7 + k * k) % 4) as usize]).collect::<Vec<_>>().join(" "))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let corpus = Corpus::of_texts(json!({}), &texts);
    let q = ["lantern"; 10].join(" ");
    assert_eq!(corpus.answer(&ask(&q)).candidates.len(), 40);
    let q = ["l", "la", "lan", "lant", "lante", "lanter", "lantern", "lanterns", "l", "la"].join(" ");
    corpus.answer(&ask(&q));
}
