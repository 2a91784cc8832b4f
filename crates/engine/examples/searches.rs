//! How long do searches take, in this process? By command:
//!
//! `cargo run -p engine --example searches -- INDEX QUERIES [RUNS [WARM]]`
//!
//! INDEX is the directory of one index, QUERIES a file with a search body per line as a client would POST
//! it. Each is run RUNS times (default 15); with WARM = `cold` the index is opened anew for each query. Prints
//! the first, the median and the slowest in milliseconds, and how many documents match.

use std::path::Path;
use std::time::Instant;

use engine::{Engine, Limits};
use serde_json::{Map, Value as Json, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [index, queries, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: searches INDEX QUERIES [RUNS [cold]]");
        std::process::exit(2);
    };
    let runs: usize = rest.first().map_or(15, |runs| runs.parse().expect("RUNS is a number"));
    let cold = rest.get(1).is_some_and(|word| word == "cold");
    let index = Path::new(index);
    let uid = index.file_name().and_then(|name| name.to_str()).expect("INDEX ends in an id");
    let limits = Limits { indexing_memory_bytes: 1 << 28, indexing_threads: 1 };
    let open = || Engine::open(index.parent().expect("INDEX has a parent"), limits).expect("it opens");
    let mut engine = open();
    let mut medians: Vec<f64> = Vec::new();
    let mut slowest: Vec<f64> = Vec::new();
    for line in std::fs::read_to_string(queries).expect("QUERIES can be read").lines() {
        let body: Map<String, Json> = serde_json::from_str(line).expect("a line is a JSON object");
        let request = serde_json::to_vec(&completed(&body)).expect("JSON prints");
        if cold {
            engine = open();
        }
        let mut times = Vec::with_capacity(runs);
        let mut total = Json::Null;
        for _ in 0..runs {
            let started = Instant::now();
            let answer = engine.index(uid).and_then(|index| index.search(&request, started));
            times.push(started.elapsed().as_secs_f64() * 1e3);
            let answer: Json = serde_json::from_slice(&answer.expect(line).body).expect("an answer is JSON");
            total = answer.get("estimatedTotalHits").or(answer.get("totalHits")).cloned().unwrap_or_default();
        }
        let first = times[0];
        times.sort_by(f64::total_cmp);
        let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
        medians.push(median);
        slowest.push(most);
        println!("{first:8.2} {median:8.2} {most:8.2} {total:>8} {line}");
    }
    medians.sort_by(f64::total_cmp);
    slowest.sort_by(f64::total_cmp);
    let at = |times: &[f64], percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "medians: p50 {:.2} p90 {:.2} p99 {:.2} max {:.2}; slowest of each: p50 {:.2} p99 {:.2} max {:.2}",
        at(&medians, 50),
        at(&medians, 90),
        at(&medians, 99),
        at(&medians, 100),
        at(&slowest, 50),
        at(&slowest, 99),
        at(&slowest, 100)
    );
}

/// What `http/` makes of a body.
fn completed(body: &Map<String, Json>) -> Json {
    let number = |key: &str, default: u64| body.get(key).and_then(Json::as_u64).unwrap_or(default);
    let paging = if body.contains_key("page") || body.contains_key("hitsPerPage") {
        json!({"kind": "page", "page": number("page", 1), "hitsPerPage": number("hitsPerPage", 20)})
    } else {
        json!({"kind": "offset", "offset": number("offset", 0), "limit": number("limit", 20)})
    };
    let mut request = json!({
        "indexUid": "measured", "paging": paging, "cropLength": 10, "cropMarker": "…",
        "highlightPreTag": "<em>", "highlightPostTag": "</em>", "showMatchesPosition": false,
        "matchingStrategy": "last", "showRankingScore": false, "showRankingScoreDetails": false,
        "requestUid": "00000000-0000-0000-0000-000000000000"
    });
    for (key, value) in body {
        request[key] = value.clone();
    }
    request
}
