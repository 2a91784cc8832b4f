//! Compares with recorded answers over real data. Run by command; needs a folder with `golden.json`, `movies.ndjson`
//! and `cities.json` (the shared data, unpacked).
//!
//! `GOLDEN=dir [KIND=facets] cargo test -p siftd-engine --lib search::golden -- --ignored --nocapture`
//!
//! 1. Answers equal the recorded ones except for times and request ids; facets are in the recorded order.
//! 2. Answers are the same over a single segment, over many segments with deleted documents, and over merged segments.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::tests::request;
use crate::{Index, Limits};

#[test]
#[ignore = "needs recorded answers: see the head of the file"]
fn answers_equal_the_recorded_ones() {
    let dir = std::env::var("GOLDEN").expect("GOLDEN names a folder");
    let only = std::env::var("KIND").ok();
    let read = |name: &str| std::fs::read_to_string(format!("{dir}/{name}")).unwrap();
    let golden: Json = serde_json::from_str(&read("golden.json")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut indexes = BTreeMap::new();
    for (uid, index) in golden["indexes"].as_object().unwrap() {
        let documents: Vec<Json> = match index["dataset"].as_str().unwrap() {
            "movies" => {
                read("movies.ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
            }
            _ => serde_json::from_str(&read("cities.json")).unwrap(),
        };
        let home = directory.path().join(uid);
        std::fs::create_dir(&home).unwrap();
        let writer = Writer { home: &home, key: index["primaryKey"].as_str().unwrap(), batches: 0 };
        indexes.insert(uid.as_str(), writer.write(settings(&index["settings"]), &documents));
    }
    let queries: Vec<&Json> = golden["queries"].as_array().unwrap().iter().collect();
    let wanted = |kind: &str| only.as_deref().is_none_or(|only| only == kind);
    let mut different = 0;
    for layout in LAYOUTS {
        let mut tallies: BTreeMap<&str, (usize, usize, Vec<Duration>)> = BTreeMap::new();
        for query in queries.iter().filter(|query| wanted(query["kind"].as_str().unwrap())) {
            let index = &indexes[query["index"].as_str().unwrap()][layout];
            let request = serde_json::to_vec(&completed(&query["request"])).unwrap();
            let started = Instant::now();
            let answer = index.search(&request, started).unwrap();
            let taken = started.elapsed();
            let found: Json = serde_json::from_slice(&answer.body).unwrap();
            let kind = query["kind"].as_str().unwrap();
            let tally = tallies.entry(kind).or_default();
            tally.0 += 1;
            tally.2.push(taken);
            match difference(&query["expect"], &found, "") {
                None => tally.1 += 1,
                Some(difference) => {
                    println!(
                        "#{} {kind} {} {}\n  {difference}",
                        query["id"], query["index"], query["request"]
                    )
                }
            }
        }
        println!("{layout}: kind asked same p50 most");
        for (kind, (asked, same, times)) in &mut tallies {
            times.sort_unstable();
            println!("{kind} {asked} {same} {:.2?} {:.2?}", times[times.len() / 2], times[times.len() - 1]);
            different += *asked - *same;
        }
    }
    assert_eq!(different, 0);
}

/// Names of the segment layouts.
const LAYOUTS: [&str; 3] = ["one segment", "ten segments with deletions", "merged"];

/// Writes the same documents in several layouts, like uploads.
struct Writer<'a> {
    home: &'a Path,
    key: &'a str,
    batches: u64,
}

impl Writer<'_> {
    /// Writes an index per layout, with the documents in the same order in each.
    fn write(mut self, settings: Json, documents: &[Json]) -> BTreeMap<&'static str, Index> {
        let settings = json!({ "kind": "settings", "settings": settings.to_string() });
        let operations = |uploads: Vec<Json>| std::iter::once(settings.clone()).chain(uploads);
        let one = vec![self.upload(documents)];
        let mut many = Vec::new();
        let mut gone = Vec::new();
        for documents in documents.chunks(documents.len().div_ceil(10)) {
            // Every fifth document is preceded by a copy under another id, which is deleted later.
            let twice = documents.iter().enumerate().flat_map(|(at, document)| {
                let mut copy = document.clone();
                copy[self.key] = json!(format!("gone-{}", gone.len()));
                let copy = (at % 5 == 0).then(|| {
                    gone.push(copy[self.key].clone());
                    copy
                });
                copy.into_iter().chain([document.clone()])
            });
            let twice: Vec<Json> = twice.collect();
            many.push(self.upload(&twice));
        }
        many.push(json!({ "kind": "deleteByIds", "ids": gone }));
        let mut written = BTreeMap::new();
        for (layout, uploads) in LAYOUTS.into_iter().zip([one, many.clone(), many]) {
            let index = self.index(layout, operations(uploads));
            while layout == "merged" && index.merge().unwrap() {}
            let segments = index.snapshot().unwrap().segments().len();
            println!("{} documents, {layout}: {segments} segments", documents.len());
            assert_eq!(segments > 1, layout == LAYOUTS[1]);
            written.insert(layout, index);
        }
        written
    }

    fn upload(&mut self, documents: &[Json]) -> Json {
        self.batches += 1;
        let path = self.home.join(format!("upload-{}", self.batches));
        std::fs::write(&path, serde_json::to_vec(documents).unwrap()).unwrap();
        json!({ "kind": "documents", "method": "replace", "primaryKey": self.key, "skipCreation": false,
                "payload": { "path": path, "format": "json" } })
    }

    fn index(&self, name: &str, operations: impl Iterator<Item = Json>) -> Index {
        let limits = Limits { indexing_memory_bytes: 1 << 30, indexing_threads: 1, cache_bytes: 32 << 20 };
        let index = Index::open(&self.home.join(name), limits).unwrap();
        for (uid, mut operation) in (1..).zip(operations) {
            operation["taskUid"] = json!(uid);
            let batch = json!({ "uid": uid, "indexUid": "golden", "operations": [operation] });
            let ticket = index.prepare(batch.to_string().as_bytes(), None).unwrap();
            index.commit(ticket).unwrap();
        }
        index
    }
}

fn settings(changes: &Json) -> Json {
    let mut all = json!({
        "typoTolerance": {
            "enabled": true, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
            "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": false
        },
        "faceting": {"maxValuesPerFacet": 100, "sortFacetValuesBy": {"*": "alpha"}}
    });
    for (key, value) in changes.as_object().unwrap() {
        match (all.get_mut(key).and_then(Json::as_object_mut), value) {
            (Some(known), Json::Object(value)) => known.extend(value.clone()),
            _ => all[key] = value.clone(),
        }
    }
    all
}

/// Completes a request body like `http/`.
fn completed(body: &Json) -> Json {
    let mut request = request(body);
    let number = |key: &str, default: u64| body.get(key).and_then(Json::as_u64).unwrap_or(default);
    request["paging"] = if body.get("page").is_some() || body.get("hitsPerPage").is_some() {
        json!({"kind": "page", "page": number("page", 1), "hitsPerPage": number("hitsPerPage", 20)})
    } else {
        json!({"kind": "offset", "offset": number("offset", 0), "limit": number("limit", 20)})
    };
    request
}

/// Returns the first difference between two answers. Members that only the second answer has are ignored, except in
/// hits and facets, where order counts too.
fn difference(wanted: &Json, found: &Json, path: &str) -> Option<String> {
    let differ = || Some(format!("{path}: wanted {wanted}, found {found}"));
    match (wanted, found) {
        (Json::Object(a), Json::Object(b)) => {
            let ordered = path.contains("/facetDistribution") || path.contains("/hits");
            if ordered && a.len() != b.len() || path.contains("/facetDistribution") && !a.keys().eq(b.keys())
            {
                return differ();
            }
            a.iter().find_map(|(key, value)| difference(value, &b[key], &format!("{path}/{key}")))
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(at, (a, b))| difference(a, b, &format!("{path}/{at}")))
        }
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            if (a - b).abs() <= 1e-6 * a.abs().max(1.0) { None } else { differ() }
        }
        (a, b) if a == b => None,
        _ => differ(),
    }
}
