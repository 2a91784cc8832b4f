//! Measures the time of searches in this process. Run it with:
//!
//! `cargo run -p siftd-engine --example searches -- INDEX QUERIES [RUNS [cold|late|turn]]`
//!
//! INDEX is the directory of an index. QUERIES is `films` or `million` for the searches with target times, or a file
//! with a search body per line, as a client would POST it. Each search is run RUNS times (default 15), one after
//! another, without cached results. With `cold`, the index is reopened for each search, so that its first run finds
//! nothing in the cache. `late` does the same, and each search starts with only 10 ms left before its cutoff, so the
//! table shows how far it exceeds that. With `turn`, the searches are run in turn.
//! Prints a table in milliseconds: opening the index, the first run, its processor time in all threads, the median of the
//! processor times, the median, the 99th percentile, the target, and the number of matching documents.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};
use siftd_engine::{Engine, FaultReporter, Index, Limits};

/// The allocator of the addon, because memory is a large part of the cost of large sets.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Greatest time of a search over 36,273 films, in milliseconds.
const FILMS_MOST: f64 = 25.0;

/// Searches over the films, with target medians in milliseconds.
const FILMS: [(&str, f64); 18] = [
    (r#"{"q":"love"}"#, FILMS_MOST),
    (r#"{"q":"the"}"#, FILMS_MOST),
    (r#"{"q":"s"}"#, FILMS_MOST),
    (r#"{"q":"a"}"#, FILMS_MOST),
    (r#"{"q":"lo"}"#, FILMS_MOST),
    (r#"{"q":"th"}"#, FILMS_MOST),
    (r#"{"q":"the of"}"#, FILMS_MOST),
    (r#"{"q":"of the"}"#, FILMS_MOST),
    (r#"{"q":"the a"}"#, FILMS_MOST),
    (r#"{"q":"the man"}"#, FILMS_MOST),
    (r#"{"q":"\"the man\""}"#, FILMS_MOST),
    (r#"{"q":"new york"}"#, FILMS_MOST),
    (r#"{"q":"yong woman"}"#, FILMS_MOST),
    (r#"{"q":"young woman falls"}"#, FILMS_MOST),
    (r#"{"q":"intersteler"}"#, FILMS_MOST),
    (r#"{"q":"the love of the man in the city"}"#, FILMS_MOST),
    (
        r#"{"q":"love","facets":["year"],"filter":"year > 1980","attributesToHighlight":["*"],"attributesToCrop":["*"]}"#,
        FILMS_MOST,
    ),
    (r#"{"q":"","sort":["year:desc"]}"#, FILMS_MOST),
];

/// Searches over a million short documents, with target medians in milliseconds.
const MILLION: [(&str, f64); 22] = [
    (r#"{"q":"love"}"#, 1.0),
    (r#"{"q":"the"}"#, 2.0),
    (r#"{"q":"s"}"#, 0.5),
    (r#"{"q":"lo"}"#, 1.5),
    (r#"{"q":"l"}"#, MILLION_MOST),
    (r#"{"q":"a"}"#, MILLION_MOST),
    (r#"{"q":"th"}"#, MILLION_MOST),
    (r#"{"q":"new york"}"#, 1.0),
    (r#"{"q":"the man"}"#, 1.0),
    (r#"{"q":"yong woman"}"#, 1.0),
    (r#"{"q":"intersteler"}"#, 1.0),
    (r#"{"q":"young woman falls"}"#, 1.0),
    (r#"{"q":"\"the man\""}"#, 1.0),
    (r#"{"q":"the of"}"#, MILLION_MOST),
    (r#"{"q":"the a"}"#, MILLION_MOST),
    (r#"{"q":"of the"}"#, MILLION_MOST),
    (r#"{"q":"the love of the man in the city"}"#, MILLION_MOST),
    (r#"{"q":"","facets":["genre","year"]}"#, 5.0),
    (r#"{"q":"","filter":"_geoRadius(48.85, 2.35, 500000)","sort":["_geoPoint(48.85, 2.35):asc"]}"#, 5.0),
    (r#"{"q":"love","distinct":"author"}"#, 4.0),
    (r#"{"q":"the","sort":["year:asc"]}"#, 1.0),
    (r#"{"q":"love","filter":"genre = Drama AND year > 1980"}"#, MILLION_MOST),
];

/// Greatest time of a search over a million documents, in milliseconds.
const MILLION_MOST: f64 = 100.0;

/// Default cutoff of a search.
const CUTOFF: Duration = Duration::from_millis(1500);

/// Time that `late` leaves before the cutoff.
const LATE: Duration = Duration::from_millis(10);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [index, queries, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: searches INDEX films|million|QUERIES [RUNS [cold|late|turn]]");
        std::process::exit(2);
    };
    let runs: usize = rest.first().map_or(15, |runs| runs.parse().expect("RUNS is a number"));
    let way = rest.get(1).map(String::as_str);
    let cold = matches!(way, Some("cold" | "late"));
    let spent = if way == Some("late") { CUTOFF - LATE } else { Duration::ZERO };
    let queries: Vec<(String, Option<f64>)> = match queries.as_str() {
        "films" => FILMS.map(|(body, aim)| (body.to_owned(), Some(aim))).into(),
        "million" => MILLION.map(|(body, aim)| (body.to_owned(), Some(aim))).into(),
        path => {
            let text = std::fs::read_to_string(path).expect("QUERIES can be read");
            text.lines().map(|line| (line.to_owned(), None)).collect()
        }
    };
    let index = Path::new(index);
    let mut opened = open(index);
    // With `turn`: times of the runs before the last one.
    let mut in_turn: Vec<Vec<Taken>> = vec![Vec::new(); queries.len()];
    if way == Some("turn") {
        for _ in 0..runs - 1 {
            for ((body, _), times) in queries.iter().zip(&mut in_turn) {
                times.extend(measure(&opened.0, body, 1, spent).0);
            }
        }
    }
    println!(
        "| search | opening | first | processors | processors p50 | p50 | p99 | aim | documents |\n|---|---|---|---|---|---|---|---|---|"
    );
    let (mut firsts, mut all_processors, mut medians) = (Vec::new(), Vec::new(), Vec::new());
    for ((body, aim), mut times) in queries.iter().zip(in_turn) {
        if cold {
            opened = open(index);
        }
        let (last, total) = measure(&opened.0, body, if way == Some("turn") { 1 } else { runs }, spent);
        times.extend(last);
        let Taken { elapsed: first, processors } = times[0];
        let usual = at(&ascending(times.iter().map(|taken| taken.processors)), 50);
        let times = ascending(times.iter().map(|taken| taken.elapsed));
        let (median, most) = (at(&times, 50), at(&times, 99));
        let aim = aim.map_or(String::new(), |aim| aim.to_string());
        let shown = body.replace('|', "\\|");
        println!(
            "| `{shown}` | {:.0} | {first:.1} | {processors:.1} | {usual:.2} | {median:.2} | {most:.2} | {aim} | {total} |",
            opened.1
        );
        firsts.push(first);
        all_processors.push(processors);
        medians.push(median);
    }
    for (name, times) in [("first", firsts), ("processors", all_processors), ("median", medians)] {
        let times = ascending(times.into_iter());
        let [p50, p90, p99, most] = [50, 90, 99, 100].map(|percent| at(&times, percent));
        println!("{name}: p50 {p50:.2} p90 {p90:.2} p99 {p99:.2} max {most:.2}");
    }
}

/// Opens an index. Returns it with the opening time in milliseconds.
fn open(path: &Path) -> (std::sync::Arc<Index>, f64) {
    let uid = path.file_name().and_then(|name| name.to_str()).expect("INDEX ends in an id");
    let limits = Limits { indexing_memory_bytes: 1 << 28, indexing_threads: 1, cache_bytes: 256 << 20 };
    let started = Instant::now();
    let engine = Engine::open(path.parent().expect("INDEX has a parent"), limits, FaultReporter::default())
        .expect("it opens");
    let index = engine.index(uid).expect("it opens");
    (index, started.elapsed().as_secs_f64() * 1e3)
}

/// Times of a search in milliseconds: elapsed time, and processor time of all threads of this process.
#[derive(Clone, Copy)]
struct Taken {
    elapsed: f64,
    processors: f64,
}

/// Returns the processor time of this process in milliseconds; NaN where it is not available.
#[cfg(target_os = "linux")]
fn processor_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the given struct and keeps no reference.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

#[cfg(not(target_os = "linux"))]
fn processor_ms() -> f64 {
    f64::NAN
}

/// Runs a search. Returns the times in order, and the number of matching documents.
fn measure(index: &Index, body: &str, runs: usize, spent: Duration) -> (Vec<Taken>, Json) {
    let parsed: Map<String, Json> = serde_json::from_str(body).expect("a body is a JSON object");
    let request = serde_json::to_vec(&completed(&parsed)).expect("JSON prints");
    let mut times = Vec::with_capacity(runs);
    let mut total = Json::Null;
    for _ in 0..runs {
        let (started, before) = (Instant::now(), processor_ms());
        let answer = index.search(&request, started - spent);
        let elapsed = started.elapsed().as_secs_f64() * 1e3;
        times.push(Taken { elapsed, processors: processor_ms() - before });
        let answer: Json = serde_json::from_slice(&answer.expect(body).body).expect("an answer is JSON");
        total = answer.get("estimatedTotalHits").or(answer.get("totalHits")).cloned().unwrap_or_default();
    }
    (times, total)
}

fn ascending(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns a percentile of ascending times.
fn at(times: &[f64], percent: usize) -> f64 {
    times[((times.len() - 1) * percent).div_ceil(100)]
}

/// Converts a body to a request, as `http/` does.
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
