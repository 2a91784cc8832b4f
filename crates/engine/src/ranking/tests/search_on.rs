//! 1. Words match only in the named attributes; proximity is that of the complete document.
//! 2. A name means that field alone, a pattern all matching fields.
//! 3. If the settings list searchable attributes, other names are rejected.

use serde_json::json;

use super::corpus::{Ask, Corpus, ask};

fn on<'a>(q: &'a str, entries: &[&str]) -> Ask<'a> {
    Ask { search_on: Some(entries.iter().map(|entry| (*entry).to_owned()).collect()), ..ask(q) }
}

#[test]
fn words_match_only_in_the_named_attributes() {
    let documents = [
        (1, json!({"title": "solar panel", "body": "roof kit"})),
        (2, json!({"title": "roof kit", "body": "solar panel"})),
        (3, json!({"title": "solar", "body": "panel"})),
    ];
    let corpus = Corpus::new(json!({"searchableAttributes": ["title", "body"]}), &documents);
    corpus.expect("solar panel ", &[(1, 1.0), (2, 0.972222), (3, 0.860009)]);
    corpus.expect_of(&on("solar panel ", &["title"]), &[(1, 1.0), (3, 0.5)]);
    corpus.expect_of(&on("solar panel ", &["body"]), &[(2, 0.972222)]);
    corpus.expect_ids(&on("solar panel ", &["*"]), &[1, 2, 3]);
    corpus.expect_ids(&on("solar panel ", &[]), &[]);
    corpus.expect_ids(&on("", &[]), &[1, 2, 3]);
}

#[test]
fn names_and_patterns() {
    let documents = [(1, json!({"u": {"v": "tea", "w": "tea"}})), (2, json!({"u": "tea"}))];
    let corpus = Corpus::new(json!({"searchableAttributes": ["u"]}), &documents);
    corpus.expect_ids(&on("tea", &["u"]), &[2]);
    corpus.expect_ids(&on("tea", &["u.v"]), &[1]);
    corpus.expect_ids(&on("tea", &["u.*"]), &[1]);
    corpus.expect_ids(&on("tea", &["u*"]), &[1, 2]);
    corpus.expect_ids(&on("tea", &["*.v"]), &[1]);
    for unknown in ["x", "uu", "x*"] {
        let refusal = corpus.refusal(&on("tea", &[unknown]));
        assert!(refusal.contains(&format!("`{unknown}`")), "{refusal}");
    }
    // Regardless of the other entries.
    for entries in [["*", "x"], ["x", "*"], ["u", "x"]] {
        let refusal = corpus.refusal(&on("tea", &entries));
        assert!(refusal.contains("`x`"), "{refusal}");
    }
    let corpus = Corpus::new(json!({}), &documents);
    corpus.expect_ids(&on("tea", &["x"]), &[]);
    corpus.expect_ids(&on("tea", &["*", "x"]), &[1, 2]);
}
