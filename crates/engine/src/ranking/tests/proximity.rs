//! 1. Nearer words come first; the reverse order costs one more.
//! 2. Words are far apart from a distance of four on, and across hard separators and attributes.
//! 3. Only direct neighbours in the query are compared.
//! 4. By attribute, words are near if they share an attribute.

use serde_json::json;

use super::corpus::{Corpus, ask};

const TEXTS: [&str; 7] = [
    "river ferry ticket",
    "ferry at river",
    "river time ferry",
    "river bus, ferry bus",
    "ferry river",
    "river x y ferry",
    "river. ferry",
];

#[test]
fn nearer_words_come_first() {
    let corpus = Corpus::of_texts(json!({"rankingRules": ["words", "proximity"]}), &TEXTS);
    corpus.expect(
        "river ferry ",
        &[(1, 1.0), (3, 0.875), (5, 0.875), (2, 0.75), (6, 0.75), (4, 0.625), (7, 0.625)],
    );
    let corpus = Corpus::of_texts(
        json!({"rankingRules": ["words", "proximity"], "proximityPrecision": "byAttribute"}),
        &TEXTS,
    );
    corpus.expect("river ferry ", &(1..=7).map(|id| (id, 1.0)).collect::<Vec<_>>());
}

#[test]
fn words_in_different_attributes_are_far_apart() {
    let documents = [
        (1, json!({"a": "river ferry"})),
        (2, json!({"a": "river", "b": "ferry"})),
        (3, json!({"a": "ferry x x x x river"})),
        (4, json!({"a": "river x x x x ferry"})),
    ];
    let settings =
        |precision| json!({"rankingRules": ["words", "proximity"], "proximityPrecision": precision});
    let corpus = Corpus::new(settings("byWord"), &documents);
    corpus.expect("river ferry ", &[(1, 1.0), (2, 0.625), (3, 0.625), (4, 0.625)]);
    corpus.expect_ids(&ask(r#""river ferry""#), &[1]);
    let corpus = Corpus::new(settings("byAttribute"), &documents);
    corpus.expect("river ferry ", &[(1, 1.0), (3, 1.0), (4, 1.0), (2, 0.625)]);
    corpus.expect_ids(&ask(r#""river ferry""#), &[1, 3, 4]);
}

#[test]
fn elements_of_a_list_are_far_apart() {
    let documents = [(1, json!({"t": ["river", "ferry"]})), (2, json!({"t": "river ferry"}))];
    let corpus = Corpus::new(json!({"searchableAttributes": ["t"]}), &documents);
    corpus.expect("river ferry ", &[(2, 1.0), (1, 0.867725)]);
    corpus.expect_ranks(&ask("river ferry "), 1, "W2/2 T3/3 P1/4 A1/1 S18/21 E1/3 X3/3");
    corpus.expect_ids(&ask(r#""river ferry""#), &[2]);
}

#[test]
fn a_hard_separator_in_the_query_compares_nothing() {
    let corpus = Corpus::of_texts(json!({}), &["lyon, france", "lyon france"]);
    corpus.expect("lyon, france ", &[(1, 1.0), (2, 0.970899)]);
    corpus.expect("lyon france ", &[(2, 1.0), (1, 0.867725)]);
}
