//! 1. Out of time, documents come by docid, with a score of 0 from there on.
//! 2. What matches is known all the same.

use serde_json::json;

use super::corpus::{Ask, Corpus, ask};

#[test]
fn without_time_documents_come_as_they_are() {
    let corpus = Corpus::of_texts(json!({}), &["stone amber", "amber stone", "shop"]);
    let late = Ask { out_of_time: true, ..ask("amber stone") };
    corpus.expect_of(&late, &[(1, 0.0), (2, 0.0)]);
    corpus.expect_ranks(&late, 1, "skipped");
    let answer = corpus.answer(&late);
    assert!(answer.degraded);
    assert_eq!(answer.candidates.len(), 2);
    assert!(!corpus.answer(&ask("amber stone")).degraded);
}
