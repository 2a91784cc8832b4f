//! 1. More words come first.
//! 2. `last` skips words from the end of the query, `frequency` the most frequent first, `all` no word.
//! 3. Once a word is skipped, words that are skipped before it no longer count.
//! 4. A phrase is never skipped, and then every other word may be.
//! 5. Where no word may be missing, the rule does not run.

use serde_json::json;

use super::corpus::{Ask, Corpus, ask};
use crate::ranking::MatchingStrategy::{self, All, Frequency, Last};

fn by(strategy: MatchingStrategy, q: &str) -> Ask<'_> {
    Ask { strategy, ..ask(q) }
}

fn pans() -> Corpus {
    Corpus::of_texts(
        json!({}),
        &[
            "old iron pan for camp",
            "old iron stove",
            "old pan",
            "iron pan",
            "pan",
            "old iron pan with handle",
            "stove camp",
        ],
    )
}

#[test]
fn last_skips_words_from_the_end() {
    let corpus = pans();
    let three = by(Last, "old iron pan");
    corpus.expect_of(&three, &[(1, 0.999872), (6, 0.999872), (2, 0.666226), (3, 0.328283)]);
    assert_eq!(corpus.answer(&three).candidates.len(), 4);
    corpus.expect_of(
        &by(Last, "iron pan camp "),
        &[(1, 0.986303), (4, 0.666667), (6, 0.663139), (2, 0.308081)],
    );
}

#[test]
fn all_skips_no_word() {
    let corpus = pans();
    corpus.expect_of(&by(All, "old iron pan"), &[(1, 0.999693), (6, 0.999693)]);
    corpus.expect_ranks(&by(All, "old iron pan"), 1, "T5/5 P7/7 A1/1 S31/31 E2/3 X4/4");
}

#[test]
fn frequency_skips_the_most_frequent_word_first() {
    let corpus = pans();
    corpus.expect_of(&by(Frequency, "old iron pan"), &[(1, 0.999808), (6, 0.999808), (2, 0.499339)]);
    corpus.expect_of(&by(Frequency, "iron pan camp "), &[(1, 0.986303), (7, 0.308081)]);
}

#[test]
fn frequencies_are_those_of_the_complete_index() {
    let corpus = pans();
    let filtered = Ask { only: Some(vec![1, 2, 6]), ..by(Frequency, "old iron pan") };
    corpus.expect_of(&filtered, &[(1, 0.999808), (6, 0.999808), (2, 0.499339)]);
}

#[test]
fn frequency_keeps_the_rarer_word() {
    let corpus =
        Corpus::of_texts(json!({}), &["one panda", "one one", "one bear", "panda cubs", "one panda cubs"]);
    corpus.expect_of(&by(Last, "one panda "), &[(1, 1.0), (5, 0.999339), (2, 0.492424), (3, 0.492424)]);
    corpus.expect_of(&by(Frequency, "one panda "), &[(1, 1.0), (5, 0.999339), (4, 0.462121)]);
}

#[test]
fn only_the_end_of_the_query_is_skipped() {
    let corpus = Corpus::of_texts(
        json!({}),
        &["beach walking tours", "walking tours", "beach tours", "tours for beach walking"],
    );
    corpus.expect("beach walking tours", &[(1, 1.0), (4, 0.961726), (3, 0.328283)]);
    corpus.expect_ranks(&ask("beach walking tours"), 4, "W3/3 T4/4 P4/7 A1/1 S25/31 E1/3 X4/4");
    corpus.expect("walking tours beach", &[(1, 0.974398), (4, 0.950973), (2, 0.666667)]);
}

#[test]
fn a_phrase_is_kept_while_other_words_are_skipped() {
    let corpus = Corpus::of_texts(
        json!({}),
        &["roasted garlic bread", "roasted garlic", "bread garlic roasted", "garlic bread"],
    );
    corpus.expect(r#"bread "roasted garlic""#, &[(1, 0.867725), (2, 0.616162)]);
}
