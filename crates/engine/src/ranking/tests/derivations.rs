//! 1. Neighbouring words are also read joined, two or three at a time, at a cost of as many typos.
//! 2. A word is also read split in two, where its halves meet most often, at a cost of one typo.
//! 3. A synonym costs nothing, matches as a phrase, and applies in one direction only.
//! 4. Synonyms of several words apply where these words are read joined.
//! 5. The last word of the query is completed, unless the settings forbid it.
//! 6. With `pinyin`, Chinese words and neighbours that are read as a word cost one typo.

use serde_json::json;

use super::corpus::{Ask, Corpus, ask};
use crate::ranking::MatchingStrategy;

fn all(q: &str) -> Ask<'_> {
    Ask { strategy: MatchingStrategy::All, ..ask(q) }
}

#[test]
fn words_are_read_joined() {
    let corpus = Corpus::of_texts(
        json!({}),
        &["book store clerk", "bookstore clerk", "bookstores clerks", "store book"],
    );
    corpus.expect("book store", &[(1, 0.999504), (4, 0.964782), (2, 0.681878), (3, 0.681878)]);
    for (docid, ranks) in [
        (1, "W2/2 T4/4 P4/4 A1/1 S21/21 E2/3 X3/3"),
        (4, "W2/2 T4/4 P3/4 A1/1 S19/21 E1/3 X3/3"),
        (2, "W2/2 T2/4 P1/2 A1/1 S20/21 E1/3 X1/3"),
    ] {
        corpus.expect_ranks(&ask("book store"), docid, ranks);
    }
    corpus.expect("bookstore ", &[(2, 0.989899), (1, 0.641414), (3, 0.641414)]);
    corpus.expect_of(&all("book store clerk"), &[(1, 1.0), (2, 0.556344), (3, 0.356237)]);
    corpus.expect_ranks(&all("book store clerk"), 1, "T5/5 P7/7 A1/1 S31/31 E3/3 X4/4");
    corpus.expect_ranks(&all("book store clerk"), 2, "T3/5 P4/5 A1/1 S29/31 E1/3 X2/4");
    corpus.expect_ranks(&all("book store clerk"), 3, "T2/5 P4/5 A1/1 S29/31 E1/3 X1/4");
}

#[test]
fn words_are_joined_across_soft_separators_only() {
    let corpus = Corpus::of_texts(json!({}), &["sea horse", "seahorse", "sea-horse", "Sea. Horse"]);
    corpus.expect_of(&all("sea horse"), &[(1, 1.0), (3, 1.0), (4, 0.801587), (2, 0.363757)]);
}

#[test]
fn synonyms_are_phrases_and_cost_nothing() {
    let corpus = Corpus::of_texts(
        json!({"synonyms": {"usc": ["old gold coin", "red metal"], "old gold coin": ["usc"]}}),
        &["old gold coin hall", "usc hall", "gold old hall", "red metal hall", "metal red"],
    );
    corpus.expect("usc", &[(2, 0.984848), (1, 0.962121), (4, 0.962121)]);
    corpus.expect("usc hall", &[(2, 1.0), (4, 0.996473), (1, 0.994489)]);
    corpus.expect("old gold coin", &[(1, 0.999898), (2, 0.752748), (3, 0.635362)]);
}

#[test]
fn synonyms_have_no_completions_or_typos() {
    let corpus = Corpus::of_texts(
        json!({"synonyms": {"tv": ["telecast", "tele cast"]}}),
        &["tele cast", "telecast", "tele casts", "the telecast"],
    );
    corpus.expect("tv", &[(1, 0.962121), (2, 0.962121), (4, 0.916667)]);
    corpus.expect("tele cast", &[(1, 1.0), (3, 0.998843), (2, 0.681878), (4, 0.675926)]);
}

#[test]
fn the_last_word_is_not_completed_if_the_settings_forbid_it() {
    let corpus = Corpus::of_texts(json!({"prefixSearch": "disabled"}), &["cup", "cusp", "cups"]);
    corpus.expect("cup", &[(1, 1.0)]);
}

#[test]
fn a_word_is_split_into_the_more_frequent_pair() {
    let corpus = Corpus::of_texts(json!({}), &["no where", "no where", "now here", "now then here"]);
    corpus.expect_ids(&ask("nowhere "), &[1, 2]);
}

#[test]
fn a_short_prefix_of_many_words_is_completed_without_limit() {
    let texts: Vec<String> = (0..1200).map(|n| format!("q{n:04} lamp")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let corpus = Corpus::of_texts(json!({}), &texts);
    assert_eq!(corpus.answer(&ask("q")).candidates.len(), 1200);
    assert_eq!(corpus.answer(&ask("lamp q")).candidates.len(), 1200);
    // Completions in reverse order do not count as near.
    let backwards = corpus.answer(&all("lamp q"));
    corpus.expect_ranks(&all("lamp q"), backwards.hits[0].docid, "T4/4 P1/4 A1/1 S19/21 E1/3 X2/3");
    let listed = Corpus::of_texts(json!({}), &texts[..90]);
    corpus.expect_ranks(&all("q0007 lamp"), 8, "T4/4 P4/4 A1/1 S21/21 E3/3 X3/3");
    listed.expect_ranks(&all("lamp q"), 1, "T4/4 P3/4 A1/1 S19/21 E1/3 X2/3");
}

#[test]
fn chinese_words_are_found_by_their_pinyin() {
    let texts = ["北京", "beijing", "背景", "南京", "北京大学", "大学北京"];
    let corpus = Corpus::of_texts(json!({"pinyin": true}), &texts);
    corpus.expect("beijing ", &[(2, 1.0), (1, 0.462121), (3, 0.462121), (5, 0.462121), (6, 0.416667)]);
    corpus.expect("nanji", &[(4, 0.462121)]);
    corpus.expect("nanji ", &[]);
    corpus.expect("beijingdaxue ", &[(5, 0.641414)]);
    let without = Corpus::of_texts(json!({}), &texts);
    without.expect("beijing ", &[(2, 1.0)]);
}
