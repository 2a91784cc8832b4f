//! 1. Answers do not depend on the cache: they are the same for a large cache, a small one and none.
//! 2. Searches use every kind of cache entry.

use std::time::Instant;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value as Json, json};

use super::run;
use super::tests::request;
use crate::fixture::caching_snapshot_of;
use crate::settings::Settings;
use crate::store::Snapshot;

/// Number of documents: enough for frequent words and common prefixes.
const DOCUMENTS: u32 = 6_000;

/// Room for everything, for some entries, and for nothing.
const CACHE_BYTES: [usize; 3] = [1 << 28, 1 << 16, 0];

/// From frequent to rare.
const WORDS: [&str; 25] = [
    "the",
    "of",
    "new",
    "york",
    "love",
    "lamp",
    "lamps",
    "night",
    "newyork",
    "woman",
    "women",
    "young",
    "12",
    "lantern",
    "laugh",
    "law",
    "lazy",
    "leaf",
    "falls",
    "fallen",
    "interstellar",
    "quiet",
    "orbit",
    "zebra",
    "zebru",
];

/// Returns a number below `below`, deterministic per document and use.
fn random(document: u32, usage: u32, below: u32) -> u32 {
    let mixed = (u64::from(document) << 32 | u64::from(usage)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u32 % below
}

fn text(document: u32, usage: u32, words: u32) -> String {
    let word = |at: u32| {
        // The smaller of two numbers is often small.
        let pick = |second: u32| random(document, usage + 2 * at + second, WORDS.len() as u32);
        let word = WORDS[pick(0).min(pick(1)) as usize];
        // Many different words with a common prefix.
        if word == "lazy" { format!("la{}zy", random(document, usage + at, 400)) } else { word.to_owned() }
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

fn document(number: u32) -> Json {
    let degree = |usage, most: f64| f64::from(random(number, usage, 1000)) / 1000.0 * 2.0 * most - most;
    let genres = ["Drama", "drama", "Comedy", "Crime"];
    let genres = &genres[..1 + random(number, 1, 4) as usize];
    json!({
        "id": number, "title": text(number, 100, 2 + random(number, 2, 4)), "overview": text(number, 200, 12),
        "genres": genres, "year": 1950 + random(number, 3, 70), "author": format!("author {}", random(number, 4, 300)),
        "_geo": {"lat": degree(5, 90.0), "lng": degree(6, 180.0)},
        "_geojson": {"type": "LineString", "coordinates": [[degree(7, 180.0), degree(8, 90.0)], [0, 0]]},
    })
}

fn snapshots() -> Vec<Snapshot> {
    let settings: Settings = serde_json::from_value(json!({
        "filterableAttributes": ["genres", "year", "author", "_geo", "_geojson"],
        "sortableAttributes": ["year", "author", "_geo"],
        "synonyms": {"nyc": ["new york"], "woman": ["lady"]},
        "stemming": ["eng"],
        "compounds": ["deu"],
        "pinyin": true,
        // An answer that is cut off on a busy machine differs.
        "searchCutoffMs": 3_600_000,
    }))
    .unwrap();
    let documents: Vec<Json> = (0..DOCUMENTS).map(document).collect();
    let (large, small) = documents.split_at(DOCUMENTS as usize - 500);
    let segments: Vec<&[Json]> = large.chunks(2_000).chain([small]).collect();
    let snapshot = |bytes: usize| caching_snapshot_of(bytes, &segments, settings.clone());
    CACHE_BYTES.into_iter().map(snapshot).collect()
}

/// Typical queries: words that are complete, misspelt, unfinished or quoted.
fn query() -> impl Strategy<Value = String> {
    let word = (select(&WORDS[..]), 0..8u8).prop_map(|(word, form)| match form {
        0 => word[..word.len().min(2)].to_owned(),
        1 => word[..1].to_owned(),
        2 => word.chars().rev().collect(),
        3 => format!("{word}s"),
        4 => word[..word.len().min(3)].to_owned(),
        _ => word.to_owned(),
    });
    let phrase = (word.clone(), word.clone()).prop_map(|(first, second)| format!("\"{first} {second}\""));
    // The last two are at one edit from two words each: frequent words and rare words.
    let special = select(vec!["nyc", "new yorkk", "womin", "zebro"]).prop_map(str::to_owned);
    let part = prop_oneof![8 => word, 1 => phrase, 4 => special];
    proptest::collection::vec(part, 0..5).prop_map(|parts| parts.join(" "))
}

fn asked() -> impl Strategy<Value = Json> {
    let filters = select(vec![
        Json::Null,
        json!("year > 1980"),
        json!(["genres = drama OR author = 'author 7'", ["year 1960 TO 1970", "NOT genres = Crime"]]),
        json!("author IN ['author 1', 'author 2', 'author 3', 'author 4', 'author 5', '1960']"),
        json!("genres EXISTS AND author STARTS WITH 'author 2'"),
        json!("_geoRadius(48.85, 2.35, 3000000)"),
        json!("_geoPolygon([0, 0], [40, 0], [40, 40])"),
    ]);
    let sorts = select(vec![
        Json::Null,
        json!(["year:desc"]),
        json!(["author:asc"]),
        json!(["_geoPoint(48.85, 2.35):asc"]),
    ]);
    let distinct = select(vec![Json::Null, Json::Null, json!("author"), json!("year")]);
    let facets = select(vec![Json::Null, json!(["genres", "year", "author"])]);
    // `any` ranks by relevance.
    let strategies = select(vec![Json::Null, Json::Null, json!("any")]);
    let parts = (query(), filters, sorts, distinct, facets, strategies);
    parts.prop_map(|(q, filter, sort, distinct, facets, strategy)| {
        json!({
            "q": q, "filter": filter, "sort": sort, "distinct": distinct, "facets": facets,
            "matchingStrategy": strategy,
            "showRankingScoreDetails": true, "attributesToHighlight": ["title"],
        })
    })
}

fn answer(snapshot: &Snapshot, asked: &Json) -> Json {
    let request = serde_json::to_vec(&request(asked)).unwrap();
    let answer = run(snapshot, &request, Instant::now(), &()).unwrap();
    let mut answer: Json = serde_json::from_slice(&answer.body).unwrap();
    answer.as_object_mut().unwrap().remove("processingTimeMs");
    answer
}

#[test]
fn answers_do_not_depend_on_the_cache() {
    let snapshots = snapshots();
    let config = Config { cases: 96, ..Config::default() };
    // The same requests in each run, so that all kinds of entries are used.
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let compared = runner.run(&asked(), |asked| {
        let expected = answer(&snapshots[2], &asked);
        for (snapshot, bytes_max) in snapshots.iter().zip(CACHE_BYTES) {
            // A later commit reuses the cached entries of its segments.
            let later = snapshot.with_parts(snapshot.parts().clone());
            for snapshot in [snapshot, snapshot, &later] {
                prop_assert_eq!(&answer(snapshot, &asked), &expected, "{} with {} bytes", asked, bytes_max);
            }
            prop_assert!(snapshot.cache().cache().figures().bytes() <= bytes_max);
        }
        Ok(())
    });
    compared.unwrap();
    let figures = snapshots[0].cache().cache().figures();
    let never = figures.kinds.iter().filter(|kind| kind.hits + kind.misses == 0);
    assert_eq!(never.map(|kind| kind.kind).collect::<Vec<_>>(), Vec::<&str>::new());
    let filled = figures.kinds.iter().filter(|kind| kind.hits > 0);
    assert!(filled.count() > figures.kinds.len() / 2, "{figures:?}");
}
