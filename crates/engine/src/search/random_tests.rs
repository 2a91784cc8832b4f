//! Random texts and queries for parser, ranking and formatting together.
//!
//! `FUZZ_SECONDS=60 cargo test -p siftd-engine --lib random -- --ignored` runs for 60 seconds. Without it, a few cases
//! run with all other tests.
//!
//! 1. No query panics.
//! 2. Without its marks, a highlighted text is the stored text, and a cropped text a part of it.
//! 3. Positions of matches are within the text, at character boundaries, in order and disjoint.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};

use super::run;
use super::tests::request;
use crate::fixture::snapshot_of;
use crate::settings::Settings;

/// Marks that do not occur in the texts below.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';
const CUT: char = '\u{3}';

/// Characters with a meaning to the parser, and words in many scripts. Normalisation changes the length of some.
const FRAGMENTS: &[&str] = &[
    "\"",
    "-",
    " ",
    "  ",
    ". ",
    ", ",
    "!",
    "_",
    "'",
    "’",
    "…",
    "≠",
    "\0",
    "\u{feff}",
    "\u{200b}",
    "\n",
    "ﬁ",
    "İ",
    "ß",
    "Ｄ",
    "①",
    "e\u{301}",
    "\u{301}",
    "東京",
    "京都に",
    "서울",
    "กรุงเทพ",
    "الكتاب",
    "עברית",
    "ёлка",
    "🦀",
    "👩‍👩‍👧",
    "12.50",
    "lamp",
    "lamps",
    "lampe",
    "lamppost",
    "broken",
    "the",
    "of",
    "new york",
    "newyork",
    "a",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(FRAGMENTS).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

fn text() -> impl Strategy<Value = String> {
    let plain = |piece: &String| !piece.contains([OPEN, CLOSE, CUT]);
    proptest::collection::vec(piece().prop_filter("not a mark", plain), 0..24)
        .prop_map(|pieces| pieces.concat())
}

#[derive(Debug, Clone)]
struct Case {
    texts: Vec<String>,
    queries: Vec<(String, usize)>,
}

fn case() -> impl Strategy<Value = Case> {
    let texts = proptest::collection::vec(text(), 1..4);
    let queries = proptest::collection::vec((text(), 0usize..8), 1..12);
    (texts, queries).prop_map(|(texts, queries)| Case { texts, queries })
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let documents: Vec<Json> =
        case.texts.iter().zip(1..).map(|(text, id)| json!({"id": id, "t": text, "u": [text]})).collect();
    let settings: Settings = serde_json::from_value(json!({
        "stopWords": ["the", "of"], "synonyms": {"lamp": ["new york", "東京"]}
    }))
    .unwrap();
    let snapshot = snapshot_of(&[&documents], settings);
    for (q, crop) in &case.queries {
        let asked = json!({
            "q": q, "attributesToHighlight": ["*"], "attributesToCrop": ["u"], "cropLength": crop,
            "highlightPreTag": OPEN, "highlightPostTag": CLOSE, "cropMarker": CUT, "showMatchesPosition": true,
        });
        let request = serde_json::to_vec(&request(&asked)).unwrap();
        let answer: Json =
            serde_json::from_slice(&run(&snapshot, &request, Instant::now(), &()).unwrap().body).unwrap();
        for hit in answer["hits"].as_array().unwrap() {
            let stored = hit["t"].as_str().unwrap();
            let unmarked = |text: &Json| text.as_str().unwrap().replace([OPEN, CLOSE, CUT], "");
            prop_assert_eq!(&unmarked(&hit["_formatted"]["t"]), stored, "{}", q);
            prop_assert!(stored.contains(&unmarked(&hit["_formatted"]["u"][0])), "{}", q);
            let mut end = 0;
            for position in hit["_matchesPosition"]["t"].as_array().into_iter().flatten() {
                let number = |key: &str| position[key].as_u64().unwrap() as usize;
                let range = number("start")..number("start") + number("length");
                prop_assert!(range.start >= end && stored.get(range.clone()).is_some(), "{} {:?}", q, range);
                end = range.end;
            }
        }
    }
    Ok(())
}

/// Found by random texts.
#[test]
fn phrases_longer_than_the_crop_may_follow_one_another() {
    for text in ["new york東京", "東京new york"] {
        let case = Case { texts: vec![text.to_owned()], queries: vec![("lamp\"".to_owned(), 1)] };
        check(&case).unwrap();
    }
}

#[test]
fn random_queries_are_answered() {
    TestRunner::new(Config::with_cases(24)).run(&case(), |case| check(&case)).unwrap();
}

#[test]
#[ignore = "runs for FUZZ_SECONDS: see the head of the file"]
fn random_queries_are_answered_for_long() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(60);
    let (end, mut cases) = (Instant::now() + Duration::from_secs(seconds), 0);
    while Instant::now() < end {
        TestRunner::new(Config::with_cases(64)).run(&case(), |case| check(&case)).unwrap();
        cases += 64;
    }
    println!("{cases} cases");
}
