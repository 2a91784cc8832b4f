//! 1. After the deadline, documents come by docid, with a score of 0 from there on.
//! 2. The set of matches is still complete.
//! 3. A search ends soon after its deadline, in any phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::corpus::{Ask, Corpus, ask};
use crate::postings::Budget;

#[test]
fn without_time_documents_come_by_docid() {
    let corpus = Corpus::of_texts(json!({}), &["stone amber", "amber stone", "shop"]);
    let late = Ask { out_of_time: true, ..ask("amber stone") };
    corpus.expect_of(&late, &[(1, 0.0), (2, 0.0)]);
    corpus.expect_ranks(&late, 1, "skipped");
    let answer = corpus.answer(&late);
    assert!(answer.degraded);
    assert_eq!(answer.candidates.len(), 2);
    assert!(!corpus.answer(&ask("amber stone")).degraded);
}

/// Enough words for dictionaries, postings and rules to take many steps.
fn many_words() -> Corpus {
    let word = |n: usize| format!("{}{}", ["stone", "amber", "lantern", "s"][n % 4], n % 997);
    let text = |n: usize| format!("{} stone {} amber s {}", word(n), word(n * 7), word(n * 31));
    let documents: Vec<_> = (1..).zip((0..4000).map(|n| json!({"t": text(n)}))).collect();
    Corpus::plain(json!({"searchableAttributes": ["t"]}), &documents)
}

#[test]
fn a_search_ends_soon_after_its_deadline() {
    let corpus = many_words();
    let word = "(s|st|stone|amber|a|lanternn1|stnoe2|amberstone|lantern99)";
    let query = format!("{word}( {word}){{0,4}} ?");
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(500));
    runner
        .run(&(query.as_str(), 0u64..120), |(q, millis)| {
            // A clock that advances by a millisecond at each read.
            let (start, looks) = (Instant::now(), Arc::new(AtomicU64::new(0)));
            let clock = Arc::clone(&looks);
            let now = move || start + Duration::from_millis(clock.fetch_add(1, Ordering::Relaxed));
            let answer =
                corpus.answer_within(&ask(&q), Budget::by(start + Duration::from_millis(millis), now));
            let looks = looks.load(Ordering::Relaxed);
            prop_assert!(looks <= millis + 50, "{looks} looks");
            prop_assert!(looks > millis || !answer.degraded);
            Ok(())
        })
        .unwrap();
}
