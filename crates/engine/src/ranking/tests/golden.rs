//! Compares with recorded answers over real data. Run by command; needs a folder with `golden.json`, `movies.ndjson`
//! and `cities.json` (the shared data, unpacked).
//!
//! `GOLDEN=dir [KIND=title] [REPEAT=9] cargo test -p siftd-engine --lib golden -- --ignored --nocapture`
//!
//! `REPEAT` runs each search this often and reports the last time, for use with a profiler.
//!
//! 1. Ids, totals, scores and details equal the recorded ones; searches with filters are skipped here.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::corpus::{Corpus, merged_settings};
use crate::facets::GeoPoint;
use crate::ranking::{MatchingStrategy, RankRequest, ScoreDetail, SortCriterion};

#[test]
#[ignore = "needs recorded answers: see the head of the file"]
fn answers_equal_the_recorded_ones() {
    let dir = std::env::var("GOLDEN").expect("GOLDEN names a folder");
    let only = std::env::var("KIND").ok();
    let repeat: usize = std::env::var("REPEAT").map_or(1, |times| times.parse().unwrap());
    let read = |name: &str| std::fs::read_to_string(format!("{dir}/{name}")).unwrap();
    let golden: Value = serde_json::from_str(&read("golden.json")).unwrap();
    let mut corpora = BTreeMap::new();
    for (uid, index) in golden["indexes"].as_object().unwrap() {
        let documents: Vec<Value> = match index["dataset"].as_str().unwrap() {
            "movies" => {
                read("movies.ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
            }
            _ => serde_json::from_str(&read("cities.json")).unwrap(),
        };
        let documents: Vec<(u32, Value)> = (0..).zip(documents).collect();
        let corpus = Corpus::plain(merged_settings(&index["settings"]), &documents);
        corpora.insert(uid.clone(), (corpus, documents, index["primaryKey"].as_str().unwrap().to_owned()));
    }
    let mut tallies: BTreeMap<String, [usize; 5]> = BTreeMap::new();
    let mut times = Vec::new();
    for query in golden["queries"].as_array().unwrap() {
        let kind = query["kind"].as_str().unwrap();
        if query["request"].get("filter").is_some() || only.as_deref().is_some_and(|only| only != kind) {
            continue;
        }
        let (corpus, documents, key) = &corpora[query["index"].as_str().unwrap()];
        for _ in 1..repeat {
            search(corpus, &query["request"]);
        }
        let started = Instant::now();
        let answer = search(corpus, &query["request"]);
        times.push((started.elapsed(), query["id"].clone(), query["request"]["q"].clone()));
        let expect = &query["expect"];
        let hits = expect["hits"].as_array().unwrap();
        let offset = query["request"]["offset"].as_u64().unwrap_or(0) as usize;
        let page: Vec<_> = answer.hits.iter().skip(offset).collect();
        let ids: Vec<&Value> = page.iter().map(|hit| &documents[hit.docid as usize].1[key]).collect();
        let wanted: Vec<&Value> = hits.iter().map(|hit| &hit[key]).collect();
        let total = expect.get("estimatedTotalHits").or_else(|| expect.get("totalHits")).unwrap();
        let total_found = json!(answer.candidates.len());
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(1.0);
        let scores = page.len() == hits.len()
            && page
                .iter()
                .zip(hits)
                .all(|(hit, want)| near(hit.score(), want["_rankingScore"].as_f64().unwrap()));
        let details: Vec<Value> =
            page.iter().map(|hit| Value::Object(ScoreDetail::render(&hit.scores, |_| true))).collect();
        let same_details = details.len() == hits.len()
            && details.iter().zip(hits).all(|(found, want)| alike(found, &want["_rankingScoreDetails"]));
        let passed = [true, ids == wanted, *total == total_found, scores, same_details];
        let tally = tallies.entry(kind.to_owned()).or_default();
        for (count, passed) in tally.iter_mut().zip(passed) {
            *count += usize::from(passed);
        }
        if passed.contains(&false) {
            println!("#{} {kind} {} {} {passed:?}", query["id"], query["index"], query["request"]);
            println!("  want {total} {wanted:?}\n  got  {total_found} {ids:?}");
            let differing =
                details.iter().zip(hits).find(|(found, want)| !alike(found, &want["_rankingScoreDetails"]));
            if let Some((found, want)) = differing {
                println!("  want {}\n  got  {found}", want["_rankingScoreDetails"]);
            }
        }
    }
    println!("kind asked ids total scores details");
    let mut sums = [0; 5];
    for (kind, tally) in tallies {
        println!("{kind} {tally:?}");
        for (sum, count) in sums.iter_mut().zip(tally) {
            *sum += count;
        }
    }
    times.sort_by_key(|(time, ..)| *time);
    println!("ALL {sums:?} p50 {:?} p99 {:?}", times[times.len() / 2].0, times[times.len() * 99 / 100].0);
    println!("slowest {:?}", &times[times.len() - 5.min(times.len())..]);
    assert_eq!(sums, [sums[0]; 5]);
}

fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-6 * a.abs().max(1.0)
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| alike(a, b)))
        }
        _ => a == b,
    }
}

fn search(corpus: &Corpus, request: &Value) -> crate::ranking::Ranked {
    let strings = |key: &str| -> Option<Vec<String>> {
        let list = request.get(key)?.as_array()?;
        Some(list.iter().map(|entry| entry.as_str().unwrap().to_owned()).collect())
    };
    let number =
        |key: &str, default: u64| request.get(key).and_then(Value::as_u64).unwrap_or(default) as usize;
    let sort: Vec<SortCriterion> =
        strings("sort").into_iter().flatten().map(|entry| criterion(&entry)).collect();
    let search_on = strings("attributesToSearchOn");
    corpus.ask_first(|universe| RankRequest {
        q: request["q"].as_str(),
        universe,
        strategy: match request["matchingStrategy"].as_str() {
            Some("all") => MatchingStrategy::All,
            Some("frequency") => MatchingStrategy::Frequency,
            _ => MatchingStrategy::Last,
        },
        search_on: search_on.as_deref(),
        locales: None,
        sort: &sort,
        distinct: request["distinct"].as_str(),
        threshold: request["rankingScoreThreshold"].as_f64(),
        wanted: number("offset", 0) + number("limit", 20),
        exhaustive: false,
        vector: None,
        only_by_vector: false,
        deadline: (Instant::now() + Duration::from_secs(60)).into(),
        scored: true,
    })
}

fn criterion(entry: &str) -> SortCriterion {
    let (path, direction) = entry.rsplit_once(':').unwrap();
    let ascending = direction == "asc";
    match path.strip_prefix("_geoPoint(").and_then(|rest| rest.strip_suffix(')')) {
        Some(point) => {
            let (lat, lng) = point.split_once(',').unwrap();
            let origin = GeoPoint { lat: lat.trim().parse().unwrap(), lng: lng.trim().parse().unwrap() };
            SortCriterion::Geo { origin, ascending }
        }
        None => SortCriterion::Field { path: path.to_owned(), ascending },
    }
}
