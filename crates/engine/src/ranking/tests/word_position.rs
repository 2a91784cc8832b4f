//! 1. Words closer to their query position come first, in coarser steps at larger offsets.
//! 2. The second word is expected second.

use serde_json::json;

use super::corpus::{Corpus, ask};

#[test]
fn ranks_follow_the_offset() {
    let places = [0, 1, 4, 5, 12, 17, 40, 2000];
    let texts: Vec<String> = places.iter().map(|place| format!("{}fox", "x ".repeat(*place))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let corpus = Corpus::of_texts(json!({"rankingRules": ["wordPosition"]}), &texts);
    for (docid, rank) in (1..).zip([11, 10, 9, 8, 6, 5, 4, 1]) {
        corpus.expect_ranks(&ask("fox "), docid, &format!("W1/1 S{rank}/11"));
    }
}

#[test]
fn each_word_has_its_expected_position() {
    let corpus = Corpus::of_texts(
        json!({"rankingRules": ["wordPosition"]}),
        &["red fox", "fox red", "x red fox", "x x x red x fox"],
    );
    for (docid, rank) in (1..).zip([21, 19, 19, 17]) {
        corpus.expect_ranks(&ask("red fox "), docid, &format!("W2/2 S{rank}/21"));
    }
}
