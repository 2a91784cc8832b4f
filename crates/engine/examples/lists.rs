//! Measures lists for frequent words and short prefixes: their bytes on disk and the time that they would save. Run it
//! with:
//!
//! `cargo run -p siftd-engine --example lists -- INDEX`
//!
//! INDEX is the directory of an index. Prints bytes first: documents by position of frequent words and short prefixes,
//! documents of short prefixes, and documents where one of the most frequent words follows another, all as roaring
//! bitmaps with runs. The lists cover all attributes together; lists by attribute, which a format would need, are
//! longer. Then prints milliseconds for some searches: the first run over a newly opened index, and the same with the
//! lists in the cache. The time of reading the lists from bytes has to be added to the latter.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use serde_json::json;
use siftd_engine::postings::{Budget, Orders, Postings, Side};
use siftd_engine::{Engine, FaultReporter, Index, Limits};

/// Searches. The last word is a prefix.
const SEARCHES: [&[&str]; 9] = [
    &["the"],
    &["s"],
    &["lo"],
    &["a"],
    &["the", "man"],
    &["new", "york"],
    &["young", "woman", "falls"],
    &["the", "of"],
    &["the", "a"],
];

/// Pairs are formed from this many of the most frequent words.
const PAIRED: usize = 100;

/// Runs of each search, each over a newly opened index. The table shows the median.
const RUNS: usize = 7;

fn main() {
    let path = std::env::args().nth(1).expect("usage: lists INDEX");
    let path = Path::new(&path);
    print_bytes(&postings(&open(path)));
    println!("| search | first | first with lists | reading lists | bytes |\n|---|---|---|---|---|");
    for words in SEARCHES {
        let q = words.join(" ");
        let without = median((0..RUNS).map(|_| {
            let index = open(path);
            timed(|| search(&index, &q)).0
        }));
        let mut with = Vec::with_capacity(RUNS);
        let mut bytes = Vec::new();
        for _ in 0..RUNS {
            let index = open(path);
            bytes = written(&lists(&postings(&index), words));
            with.push(timed(|| search(&index, &q)).0);
        }
        let reading = median((0..RUNS).map(|_| timed(|| read(&bytes)).0));
        let with = median(with.into_iter());
        println!("| `{q}` | {without:.1} | {with:.1} | {reading:.1} | {} |", bytes.len());
    }
}

/// Returns the lists that a search uses: documents and positions of its words and of its last prefix, and documents
/// where these follow one another.
fn lists(postings: &Postings, words: &[&str]) -> Vec<RoaringBitmap> {
    let all = postings.snapshot().documents();
    let sides: Vec<Side> = words.iter().map(|word| Side::Word((*word).into())).collect();
    let last = words.last().expect("there is a word");
    let mut lists = positions(postings, &Side::Prefix((*last).into()));
    lists.extend(prefix_docs(postings, last));
    for text in words {
        let Some(word) = postings.word(text).expect("it reads") else { continue };
        let docs = postings.word_docs(&word).expect("it reads");
        lists.extend(docs.fields().map(|(_, docs)| docs.clone()));
        let positions = postings.word_positions(&word, all).expect("it reads");
        lists.extend(positions.iter().flat_map(|positions| positions.iter()).map(|(_, docs)| docs.clone()));
    }
    let prefix = Side::Prefix((*last).into());
    for (left, right) in sides.iter().zip(sides.iter().skip(1)) {
        lists.extend(postings.near_docs(left, right, Orders::Both).expect("it reads").iter().cloned());
        lists.extend(postings.near_docs(right, left, Orders::Both).expect("it reads").iter().cloned());
        if right == &sides[sides.len() - 1] {
            lists.extend(postings.near_docs(left, &prefix, Orders::Both).expect("it reads").iter().cloned());
            lists.extend(postings.near_docs(&prefix, left, Orders::Both).expect("it reads").iter().cloned());
        }
    }
    lists
}

fn positions(postings: &Postings, side: &Side) -> Vec<RoaringBitmap> {
    let all = postings.snapshot().documents();
    let positions = match side {
        Side::Prefix(prefix) => postings.prefix_positions(prefix, 0, all).expect("it reads"),
        Side::Word(text) => {
            let word = postings.word(text).expect("it reads");
            word.and_then(|word| postings.word_positions(&word, all).expect("it reads"))
        }
    };
    positions.iter().flat_map(|positions| positions.iter()).map(|(_, docs)| docs.clone()).collect()
}

fn prefix_docs(postings: &Postings, prefix: &str) -> Vec<RoaringBitmap> {
    let docs = postings.prefix_docs(prefix).expect("it reads");
    docs.fields().map(|(_, docs)| docs.clone()).collect()
}

fn print_bytes(postings: &Postings) {
    let documents = postings.snapshot().documents().len();
    let (mut words, mut prefixes) = (Vec::new(), BTreeMap::<String, u64>::new());
    postings
        .starting_with("", |word| {
            let frequency = word.frequency_bound();
            for length in 1..=3 {
                if let Some((end, last)) = word.text.char_indices().nth(length - 1) {
                    *prefixes.entry(word.text[..end + last.len_utf8()].to_owned()).or_default() += frequency;
                }
            }
            if frequency * 1000 >= documents {
                words.push((frequency, word.text.to_string()));
            }
            Ok(ControlFlow::Continue(()))
        })
        .expect("it reads");
    words.sort_by(|a, b| b.cmp(a));
    println!("| lists | count | bytes |\n|---|---|---|");
    let show = |name: &str, count: usize, bytes: usize| println!("| {name} | {count} | {bytes} |");
    for share in [100, 1000] {
        let frequent: Vec<&str> =
            words.iter().filter(|(n, _)| n * share >= documents).map(|(_, word)| &**word).collect();
        let bytes = frequent.iter().map(|word| bytes_of(positions(postings, &Side::Word((*word).into()))));
        show(&format!("positions of words in 1/{share} of the documents"), frequent.len(), bytes.sum());
        for length in 1..=3 {
            let short: Vec<&String> = prefixes
                .iter()
                .filter(|(prefix, n)| prefix.chars().count() == length && **n * share >= documents)
                .map(|(prefix, _)| prefix)
                .collect();
            let bytes =
                short.iter().map(|prefix| bytes_of(positions(postings, &Side::Prefix((***prefix).into()))));
            show(
                &format!("positions of {length} letters in 1/{share} of the documents"),
                short.len(),
                bytes.sum(),
            );
            let bytes = short.iter().map(|prefix| bytes_of(prefix_docs(postings, prefix)));
            show(
                &format!("documents of {length} letters in 1/{share} of the documents"),
                short.len(),
                bytes.sum(),
            );
        }
    }
    let frequent: Vec<Side> =
        words.iter().take(PAIRED).map(|(_, word)| Side::Word(word.as_str().into())).collect();
    let (mut pairs, mut bytes) = (0, 0);
    for left in &frequent {
        for right in &frequent {
            let near = postings.near_docs(left, right, Orders::Both).expect("it reads");
            pairs += usize::from(!near[0].is_empty());
            bytes += bytes_of(near[..1].to_vec());
        }
    }
    show(&format!("pairs of the {PAIRED} most frequent words"), pairs, bytes);
}

fn bytes_of(lists: Vec<RoaringBitmap>) -> usize {
    written(&lists).len()
}

fn written(lists: &[RoaringBitmap]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for list in lists {
        let mut list = list.clone();
        list.optimize();
        list.serialize_into(&mut bytes).expect("memory takes it");
    }
    bytes
}

fn read(mut bytes: &[u8]) -> Vec<RoaringBitmap> {
    let mut lists = Vec::new();
    while !bytes.is_empty() {
        lists.push(RoaringBitmap::deserialize_from(&mut bytes).expect("it was written"));
    }
    lists
}

fn open(path: &Path) -> Arc<Index> {
    let uid = path.file_name().and_then(|name| name.to_str()).expect("INDEX ends in an id");
    let limits = Limits { indexing_memory_bytes: 1 << 28, indexing_threads: 1, cache_bytes: 256 << 20 };
    let engine = Engine::open(path.parent().expect("INDEX has a parent"), limits, FaultReporter::default());
    let engine = engine.expect("it opens");
    engine.index(uid).expect("it opens")
}

fn postings(index: &Index) -> Postings {
    let budget = Budget::until(Instant::now() + Duration::from_secs(3600));
    Postings::open(&index.snapshot().expect("it opens"), Arc::new(budget)).expect("it reads")
}

/// Returns the time of `work` in milliseconds, and its result.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let done = work();
    (began.elapsed().as_secs_f64() * 1e3, done)
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn search(index: &Index, q: &str) {
    let request = json!({
        "indexUid": "measured", "q": q, "paging": {"kind": "offset", "offset": 0, "limit": 20}, "cropLength": 10,
        "cropMarker": "…", "highlightPreTag": "<em>", "highlightPostTag": "</em>", "showMatchesPosition": false,
        "matchingStrategy": "last", "showRankingScore": false, "showRankingScoreDetails": false,
        "requestUid": "00000000-0000-0000-0000-000000000000"
    });
    let request = serde_json::to_vec(&request).expect("JSON prints");
    index.search(&request, Instant::now()).expect("it answers");
}
