//! 1. The best-ranked document of each value stays. Documents without a value all stay.
//! 2. An excluded document excludes no others.
//! 3. Candidates are counted among the documents read; exhaustive counting reads all documents.

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
fn one_document_per_value_stays() {
    let corpus = mugs();
    corpus.expect_ids(&distinct("mug", 20), &[1, 2, 4, 6, 7, 8]);
    corpus.expect_ids(&distinct("mug", 2), &[1, 2]);
    corpus.expect_ids(&distinct("", 20), &[1, 2, 4, 6, 7, 8]);
}

#[test]
fn candidates_exclude_dropped_documents() {
    let corpus = mugs();
    for ask in [distinct("mug", 20), distinct("mug", 2), distinct("", 2)] {
        assert_eq!(corpus.answer(&ask).candidates.len(), 6, "{:?} {}", ask.q, ask.limit);
    }
    // Documents are read only up to the end of the page: that document 3 shares a value is not known yet.
    assert_eq!(corpus.answer(&distinct("", 0)).candidates.len(), 8);
    let exhaustive = Ask { exhaustive: true, ..distinct("", 0) };
    assert_eq!(corpus.answer(&exhaustive).candidates.len(), 6);
}

#[test]
fn a_value_counts_once_over_all_buckets() {
    let documents = [
        (1, json!({"t": "mugs", "sku": "A"})),
        (2, json!({"t": "mug", "sku": "A"})),
        (3, json!({"t": "mug shop", "sku": "A"})),
    ];
    let corpus = Corpus::new(json!({"searchableAttributes": ["t"]}), &documents);
    corpus.expect_ids(&distinct("mug", 20), &[2]);
}
