//! 1. Fewer typos come first.
//! 2. A word of five letters allows one typo, of nine letters two; a wrong first letter counts twice.
//! 3. Two swapped neighbours are one typo; so is a split in two.
//! 4. A prefix costs nothing, and allows as many typos as a complete word.
//! 5. Protected words, attributes and numbers allow no typo; words are still split.
//! 6. The maximum counts every typo that the query allows, even if no document needs it.

use serde_json::json;

use super::corpus::{AMBER_STONES, Corpus, ask};

#[test]
fn a_word_of_eight_letters_allows_one_typo() {
    let corpus = Corpus::of_texts(json!({}), &["umbrella", "umbrela", "ubmrela", "ambrella", "umbrellas"]);
    corpus.expect("umbrella ", &[(1, 1.0), (2, 0.462121), (5, 0.462121)]);
    corpus.expect_ranks(&ask("umbrella "), 1, "W1/1 T2/2 P1/1 A1/1 S11/11 E3/3 X2/2");
    corpus.expect_ranks(&ask("umbrella "), 2, "W1/1 T1/2 P1/1 A1/1 S11/11 E1/3 X1/2");
}

#[test]
fn a_word_of_eleven_letters_allows_two_typos() {
    let corpus = Corpus::of_texts(
        json!({}),
        &[
            "thunderbolt",
            "thunderblt",
            "thunderbotl",
            "thnuderblt",
            "phunderbolt",
            "phunderblt",
            "thunderbolts",
        ],
    );
    corpus.expect(
        "thunderbolt ",
        &[(1, 1.0), (2, 0.641414), (3, 0.641414), (7, 0.641414), (4, 0.308081), (5, 0.308081)],
    );
    corpus.expect_ids(&ask("thunderbolt"), &[1, 7, 2, 3, 4, 5]);
    corpus.expect_ranks(&ask("thunderbolt"), 7, "W1/1 T3/3 P1/1 A1/1 S11/11 E1/3 X1/2");
}

#[test]
fn short_words_allow_no_typos() {
    let corpus = Corpus::of_texts(json!({}), &["cup", "cusp", "cups"]);
    corpus.expect("cup ", &[(1, 1.0)]);
    corpus.expect("cup", &[(1, 1.0), (3, 0.962121)]);
}

#[test]
fn an_unfinished_word_allows_a_typo_in_the_prefix() {
    let corpus = Corpus::of_texts(json!({}), &["airplane", "airplanes", "airlanes", "airplnaes"]);
    corpus.expect("airplan", &[(1, 0.962121), (2, 0.962121), (3, 0.462121), (4, 0.462121)]);
}

#[test]
fn first_letters_and_swaps() {
    let corpus = Corpus::of_texts(json!({}), &AMBER_STONES);
    corpus.expect(
        "stoen",
        &[(2, 0.462121), (7, 0.462121), (1, 0.416667), (6, 0.416667), (3, 0.371212), (5, 0.371212)],
    );
    corpus.expect("tsone", &[]);
    corpus.expect("ambe", &[(1, 0.962121), (3, 0.962121), (4, 0.962121), (5, 0.962121), (2, 0.916667)]);
    corpus.expect("ambe ", &[]);
    corpus.expect_ranks(&ask("amber stone "), 5, "W2/2 T1/3 P3/4 A1/1 S20/21 E1/3 X1/3");
}

#[test]
fn a_protected_word_allows_no_typos() {
    let settings = json!({"typoTolerance": {
        "enabled": true, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
        "disableOnWords": ["Umbrella"], "disableOnAttributes": [], "disableOnNumbers": false,
    }});
    let corpus = Corpus::of_texts(settings, &["umbrella", "umbrela"]);
    corpus.expect("umbrella ", &[(1, 1.0)]);
    corpus.expect("umbrela ", &[(2, 1.0), (1, 0.462121)]);
}

#[test]
fn a_protected_attribute_matches_as_written() {
    let settings = json!({"searchableAttributes": ["t", "u"], "typoTolerance": {
        "enabled": true, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
        "disableOnWords": [], "disableOnAttributes": ["t"], "disableOnNumbers": false,
    }});
    let documents = [(1, json!({"t": "umbrella", "u": "rain"})), (2, json!({"t": "sun", "u": "umbrella"}))];
    let corpus = Corpus::new(settings, &documents);
    corpus.expect("umbrela ", &[(2, 0.231061)]);
    corpus.expect("umbrella ", &[(1, 1.0), (2, 0.75)]);
}

#[test]
fn numbers_can_be_protected() {
    let settings = |protected: bool| {
        json!({"typoTolerance": {
            "enabled": true, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
            "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": protected,
        }})
    };
    let texts = ["part 24680", "part 24681"];
    let corpus = Corpus::of_texts(settings(true), &texts);
    corpus.expect_ids(&ask("24681 "), &[2]);
    corpus.expect_ids(&ask("24689 "), &[]);
    corpus.expect_ids(&ask("2468"), &[1, 2]);
    let corpus = Corpus::of_texts(settings(false), &texts);
    corpus.expect_ids(&ask("24689 "), &[1, 2]);
    corpus.expect_ranks(&ask("24689 "), 1, "W1/1 T1/2 P1/1 A1/1 S10/11 E1/3 X1/2");
}

#[test]
fn words_are_split_even_without_a_typo_budget() {
    let settings = json!({"typoTolerance": {
        "enabled": false, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
        "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": false,
    }});
    let corpus = Corpus::of_texts(settings, &["moon lit", "moonlit", "moonlitt"]);
    corpus.expect_ids(&ask("moonlit "), &[2, 1]);
}
