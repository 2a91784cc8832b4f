//! 1. Words in more important attributes come first; each word counts by itself.
//! 2. If all attributes are searchable, they are equally important.
//! 3. A nested field has the weight of the first entry that covers it.
//! 4. `attribute` combines this rule and that of word positions.

use serde_json::json;

use super::corpus::{Corpus, ask};

#[test]
fn each_word_counts_in_its_own_attribute() {
    let documents = [
        (1, json!({"title": "blue lamp"})),
        (2, json!({"body": "blue lamp"})),
        (3, json!({"title": "blue", "body": "lamp"})),
        (4, json!({"tags": ["blue", "lamp"]})),
    ];
    let rules = json!(["words", "attributeRank"]);
    let ordered = json!({"searchableAttributes": ["title", "body", "tags"], "rankingRules": rules});
    let corpus = Corpus::new(ordered, &documents);
    corpus.expect("blue lamp ", &[(1, 1.0), (3, 0.9), (2, 0.8), (4, 0.6)]);
    corpus.expect_ranks(&ask("blue lamp "), 3, "W2/2 A4/5");
    let corpus = Corpus::new(json!({"searchableAttributes": ["*"], "rankingRules": rules}), &documents);
    corpus.expect("blue lamp ", &[(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)]);
}

#[test]
fn a_nested_field_has_the_weight_of_the_first_entry_covering_it() {
    let settings = json!({"searchableAttributes": ["c", "m.fr", "m"], "rankingRules": ["attributeRank"]});
    let documents = [
        (1, json!({"m": {"en": "sea"}})),
        (2, json!({"m": {"fr": "sea"}})),
        (3, json!({"c": "sea"})),
        (4, json!({"mm": "sea"})),
    ];
    let corpus = Corpus::new(settings, &documents);
    corpus.expect("sea ", &[(3, 1.0), (2, 0.666667), (1, 0.333333)]);
    corpus.expect_ranks(&ask("sea "), 2, "W1/1 A2/3");
}
