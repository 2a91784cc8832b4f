//! 1. The best documents, found without reading all postings lists, are those of the scores of all documents.
//! 2. Scores are the same in every layout of segments.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use serde_json::json;

use super::corpus::{Corpus, ask};
use crate::analysis::StopWordLists;
use crate::postings::{Budget, Postings};
use crate::query::{Derivations, ParsedQuery, QueryGraph, TermResolver};
use crate::ranking::MatchingStrategy;
use crate::ranking::relevance::Scores;

/// Frequent words first: a word is drawn by the product of two random numbers.
const WORDS: [&str; 24] = [
    "the",
    "of",
    "run",
    "runs",
    "running",
    "light",
    "lights",
    "house",
    "lighthouse",
    "iron",
    "irons",
    "gate",
    "gates",
    "wall",
    "harbour",
    "harbors",
    "sea",
    "ship",
    "ships",
    "shop",
    "storm",
    "stormy",
    "copper",
    "kettle",
];

fn texts(count: usize) -> Vec<String> {
    let mut state: u32 = 7;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    let mut text = |_| {
        let length = 1 + draw(9);
        let words = (0..length).map(|_| WORDS[draw(WORDS.len()) * draw(WORDS.len()) / WORDS.len()]);
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(&mut text).collect()
}

#[test]
fn the_best_documents_are_those_of_all_scores() {
    let texts = texts(150);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let settings = json!({
        "stemming": ["eng"],
        "typoTolerance": {
            "enabled": true, "minWordSizeForTypos": {"oneTypo": 4, "twoTypos": 8},
            "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": false,
        },
    });
    let corpus = Corpus::of_texts(settings, &texts);
    for q in [
        "the light of the house",
        "ships gates ",
        "hraboru light ho",
        "the of the kettle storm ",
        "cooper \"iron gate\"",
    ] {
        corpus.each_layout(|snapshot, analyzer| {
            let postings =
                Postings::open(snapshot, Arc::new(Budget::until(Instant::now() + Duration::from_secs(60))))
                    .unwrap();
            let tokens = analyzer.tokens(q, None);
            let query = ParsedQuery::parse(&tokens, true, 32, &StopWordLists::default());
            let derivations = Derivations::new(&postings, analyzer);
            let (graph, terms) = QueryGraph::new(&query.terms, &derivations, MatchingStrategy::Any).unwrap();
            let resolver = TermResolver::new(&postings, terms, None, snapshot.shared_documents());
            let scores = Scores::new(&resolver, &graph).unwrap();
            let sums = scores.all().unwrap();
            // Now the highest frequencies are known, which narrow the bounds of scores.
            let bounded = Scores::new(&resolver, &graph).unwrap();
            let matching = resolver.any_set(&graph).unwrap();
            let filtered: RoaringBitmap = matching.iter().filter(|docid| docid % 3 != 0).collect();
            for universe in [&*matching, &filtered] {
                let mut all: Vec<(u32, u32)> = universe
                    .iter()
                    .map(|docid| (docid, sums.of(docid)))
                    .filter(|(_, sum)| *sum > 0)
                    .collect();
                all.sort_by_key(|(docid, sum)| (Reverse(*sum), *docid));
                for (count, scores) in
                    [1, 2, 5, 20, 60].into_iter().flat_map(|count| [(count, &scores), (count, &bounded)])
                {
                    let mut best = scores.best(universe, count).unwrap();
                    best.retain(|(_, sum)| *sum > 0);
                    assert_eq!(best, all[..count.min(all.len())], "{count} of {q:?}");
                }
            }
        });
    }
}

#[test]
fn scores_are_equal_in_every_layout() {
    let texts = texts(40);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let corpus = Corpus::of_texts(json!({"rankingRules": ["relevance"], "stemming": ["eng"]}), &texts);
    for q in ["running light", "the gate of the sea "] {
        let mut ask = ask(q);
        ask.strategy = MatchingStrategy::Any;
        assert!(!corpus.answer(&ask).hits.is_empty(), "{q}");
    }
}
