//! 1. The words of a phrase must follow one another; a stop word in it matches any single word.
//! 2. A phrase allows no typos and no completion.
//! 3. A hard separator splits a phrase in two.
//! 4. Words two slots apart may also be neighbours: the stop word between them may be missing.

use serde_json::json;

use super::corpus::{Corpus, ask};

#[test]
fn words_follow_one_another() {
    let corpus = Corpus::of_texts(
        json!({}),
        &["amber stone shop", "stone amber shop", "amber bowl with stone", "ambers stones", "ambr stone"],
    );
    corpus.expect(r#""amber stone""#, &[(1, 0.984848)]);
    corpus.expect_ranks(&ask(r#""amber stone""#), 1, "W2/2 T1/1 P1/1 A1/1 S11/11 E2/3 X2/2");
    corpus.expect_ids(&ask(r#""amber with stone""#), &[]);
}

#[test]
fn a_hard_separator_splits_a_phrase_in_two() {
    let corpus = Corpus::of_texts(json!({}), &["lyon, france", "lyon france"]);
    corpus.expect(r#""lyon, france""#, &[(1, 1.0), (2, 0.912698)]);
    corpus.expect_ids(&ask(r#""lyon france""#), &[2]);
}

#[test]
fn stop_words_in_phrases_match_any_word() {
    let corpus = Corpus::of_texts(
        json!({"stopWords": ["of", "the"]}),
        &["king of the hills", "king hills", "king and the hills", "hills of the king", "king of hills"],
    );
    corpus
        .expect("king of the hills", &[(1, 1.0), (3, 0.997354), (5, 0.986772), (2, 0.978836), (4, 0.962963)]);
    corpus.expect(
        r#""king of the hills""#,
        &[(1, 0.984848), (3, 0.984848), (2, 0.969697), (5, 0.969697), (4, 0.878788)],
    );
}

#[test]
fn words_around_a_stop_word_may_be_neighbours() {
    let corpus = Corpus::of_texts(
        json!({"stopWords": ["of"]}),
        &["jar of honey", "jar honey", "honey jar", "jar full of honey", "jar with honey"],
    );
    corpus.expect_ids(&ask(r#""jar of honey""#), &[5, 1, 2]);
}
