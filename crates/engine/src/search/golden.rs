//! Recorded answers over real data, by command: needs a folder with `golden.json`, `movies.ndjson` and
//! `cities.json` (the shared data, unpacked).
//!
//! `GOLDEN=dir [KIND=facets] cargo test -p engine --lib search::golden -- --ignored --nocapture`
//!
//! 1. Whole answers are those recorded, but for times and request ids; facets in the recorded order.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::tests::request;
use crate::fixture::snapshot_of;
use crate::settings::Settings;

#[test]
#[ignore = "needs recorded answers: see the head of the file"]
fn answers_are_those_recorded() {
    let dir = std::env::var("GOLDEN").expect("GOLDEN names a folder");
    let only = std::env::var("KIND").ok();
    let read = |name: &str| std::fs::read_to_string(format!("{dir}/{name}")).unwrap();
    let golden: Json = serde_json::from_str(&read("golden.json")).unwrap();
    let mut snapshots = BTreeMap::new();
    for (uid, index) in golden["indexes"].as_object().unwrap() {
        let mut documents: Vec<Json> = match index["dataset"].as_str().unwrap() {
            "movies" => {
                read("movies.ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
            }
            _ => serde_json::from_str(&read("cities.json")).unwrap(),
        };
        let key = index["primaryKey"].as_str().unwrap();
        // Documents were sent in this order, so docids are the same.
        for document in &mut documents {
            document["id"] = document[key].clone();
        }
        snapshots.insert(uid.as_str(), snapshot_of(&[&documents], settings(&index["settings"])));
    }
    let mut tallies: BTreeMap<&str, (usize, usize, Vec<Duration>)> = BTreeMap::new();
    for query in golden["queries"].as_array().unwrap() {
        let kind = query["kind"].as_str().unwrap();
        if only.as_deref().is_some_and(|only| only != kind) {
            continue;
        }
        let snapshot = &snapshots[query["index"].as_str().unwrap()];
        let request = serde_json::to_vec(&completed(&query["request"])).unwrap();
        let started = Instant::now();
        let answer = super::run(snapshot, &request, started).unwrap();
        let taken = started.elapsed();
        let found: Json = serde_json::from_slice(&answer.body).unwrap();
        let tally = tallies.entry(kind).or_default();
        tally.0 += 1;
        tally.2.push(taken);
        match difference(&query["expect"], &found, "") {
            None => tally.1 += 1,
            Some(place) => {
                println!("#{} {kind} {} {}\n  {place}", query["id"], query["index"], query["request"])
            }
        }
    }
    println!("kind asked same p50 most");
    for (kind, (asked, same, times)) in &mut tallies {
        times.sort_unstable();
        println!("{kind} {asked} {same} {:.2?} {:.2?}", times[times.len() / 2], times[times.len() - 1]);
    }
    assert!(tallies.values().all(|(asked, same, _)| asked == same));
}

fn settings(changes: &Json) -> Settings {
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
    serde_json::from_value(all).unwrap()
}

/// What `http/` makes of a body.
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

/// Where two answers differ first; members that only the second has are not looked at, but for those of
/// hits and facets, whose order counts as well.
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
