//! 1. Of documents that share a value, the best-ranked stays; those without a value all stay.
//! 2. A document that went takes no others with it.
//! 3. Candidates are counted as far as documents were looked at; all of them, if that is asked for.

use serde_json::json;

use super::corpus::{Ask, Corpus, ask};

fn mugs() -> Corpus {
    let sku = |sku: serde_json::Value| json!({"t": "mug", "sku": sku});
    let documents = [
        (1, sku(json!("A"))),
        (2, sku(json!("B"))),
        (3, sku(json!("a"))),
        (4, json!({"t": "mug"})),
        (5, sku(json!(["C", "B"]))),
        (6, sku(json!("C"))),
        (7, json!({"t": "mug"})),
        (8, sku(json!("D"))),
    ];
    Corpus::new(json!({"searchableAttributes": ["t"]}), &documents)
}

fn distinct(q: &str, limit: usize) -> Ask<'_> {
    Ask { distinct: Some("sku"), limit, ..ask(q) }
}

#[test]
fn one_of_each_value_stays() {
    let corpus = mugs();
    corpus.expect_ids(&distinct("mug", 20), &[1, 2, 4, 6, 7, 8]);
    corpus.expect_ids(&distinct("mug", 2), &[1, 2]);
    corpus.expect_ids(&distinct("", 20), &[1, 2, 4, 6, 7, 8]);
}

#[test]
fn candidates_are_those_left() {
    let corpus = mugs();
    for ask in [distinct("mug", 20), distinct("mug", 2), distinct("", 2)] {
        assert_eq!(corpus.answer(&ask).candidates.len(), 6, "{:?} {}", ask.q, ask.limit);
    }
    // Looked at only as far as the page reaches: document 3 is not yet known to share a value.
    assert_eq!(corpus.answer(&distinct("", 0)).candidates.len(), 8);
    let exhaustive = Ask { exhaustive: true, ..distinct("", 0) };
    assert_eq!(corpus.answer(&exhaustive).candidates.len(), 6);
}

#[test]
fn a_value_is_one_over_all_buckets() {
    let documents = [
        (1, json!({"t": "mugs", "sku": "A"})),
        (2, json!({"t": "mug", "sku": "A"})),
        (3, json!({"t": "mug shop", "sku": "A"})),
    ];
    let corpus = Corpus::new(json!({"searchableAttributes": ["t"]}), &documents);
    corpus.expect_ids(&distinct("mug", 20), &[2]);
}
