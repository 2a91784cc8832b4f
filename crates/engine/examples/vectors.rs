//! How near does the search for neighbours come to the truth, how fast, and what does it cost?
//!
//! `npm run bench:vectors [-- --films FILM_LINES.ndjson] [--vectors N] [--raw] [--churn] [--only NAME]`
//!
//! Sets of vectors: `clustered` (made up, always the same: 48 latent dimensions), `films` (texts given by
//! `--films`, one JSON object a line: words hashed to directions, weighted by rarity), `sphere` (uniform, as a
//! stress only: no text looks like it). The truth is a plain scan in 64 bits. Recall is that of the first ten.

use std::collections::HashMap;
use std::io::BufRead as _;
use std::path::Path;
use std::time::{Duration, Instant};

use engine::settings::Settings;
use engine::vector::{DocumentVectors, Nearest, Staged, VectorDraft, Vectors, embedders_of};
use roaring::RoaringBitmap;

const DIMENSIONS: usize = 384;
const QUERIES: usize = 300;
const FIRST: usize = 10;
const ROUNDS: usize = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let count: usize = value("--vectors").and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let only = value("--only");
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("clustered") {
        let data = clustered(count + QUERIES, &mut Random(1));
        measure("clustered", data, has("--raw"), has("--churn"));
    }
    if let Some(films) = value("--films").filter(|_| wanted("films")) {
        measure("films", films_of(Path::new(&films)), has("--raw"), has("--churn"));
    }
    if wanted("sphere") && only.is_some() {
        measure("sphere", sphere(count + QUERIES, &mut Random(3)), has("--raw"), has("--churn"));
    }
}

/// Rows, of which the last are asked for; and a group for each, for filters that follow the content.
struct Data {
    rows: Vec<Vec<f32>>,
    groups: Vec<usize>,
}

fn measure(name: &str, mut data: Data, raw: bool, churn: bool) {
    let queries = data.rows.split_off(data.rows.len() - QUERIES);
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let settings = settings();
    let before = resident_bytes();
    let started = Instant::now();
    let mut vectors = written(&settings, folder.path(), Default::default(), data.rows.iter().zip(0..));
    let appended = started.elapsed();
    let set = set_of(&vectors);
    let graphs = set.graphs();
    let started = Instant::now();
    graphs.tend_now(&set).expect("graphs can be built");
    let built = started.elapsed();
    let memory: usize = graphs.sealed().iter().map(|graph| graph.memory_bytes()).sum();
    println!(
        "{name}: {} x {DIMENSIONS}, log written in {appended:.1?}, {} graph(s) built in {built:.1?}; graphs {} MB, \
         resident +{} MB",
        data.rows.len(),
        graphs.sealed().len(),
        memory >> 20,
        resident_bytes().saturating_sub(before) >> 20
    );
    let all = RoaringBitmap::from_iter(0..data.rows.len() as u32);
    println!("  {:28} {:>7} {:>9} {:>9} {:>7}", "filter", "kept", "p50", "p99", "recall");
    for kept in [100.0, 50.0, 20.0, 10.0, 5.0, 1.0, 0.1] {
        let mut random = Random(7);
        let share = all.iter().filter(|_| random.unit() < kept / 100.0).collect();
        report(&settings, &vectors, &data, &queries, &format!("random {kept} %"), &share);
        if kept < 100.0 {
            let groups = data.groups.iter().max().map_or(1, |most| most + 1) as f64;
            let within = |docid: &u32| (data.groups[*docid as usize] as f64) < groups * kept / 100.0;
            let share = all.iter().filter(within).collect();
            report(&settings, &vectors, &data, &queries, &format!("by content {kept} %"), &share);
        }
    }
    let found = (0..data.rows.len()).step_by(50).filter(|at| {
        let nearest = first(&settings, &vectors, &data.rows[*at], &all, 1);
        nearest.first().is_some_and(|docid| data.rows[*docid as usize] == data.rows[*at])
    });
    println!("  find themselves: {} of {}", found.count(), data.rows.len().div_ceil(50));
    if churn {
        let mut random = Random(11);
        for round in 1..=ROUNDS {
            let mut changed: Vec<u32> = Vec::new();
            for docid in 0..data.rows.len() {
                if random.unit() < 0.05 {
                    let other = random.below(data.rows.len());
                    data.rows[docid] = moved(&data.rows[other], &mut random);
                    changed.push(docid as u32);
                }
            }
            let rows = changed.iter().map(|docid| (&data.rows[*docid as usize], *docid));
            vectors = written(&settings, folder.path(), vectors, rows);
            let set = set_of(&vectors);
            set.graphs().tend_now(&set).expect("graphs can be built");
            let label = format!("round {round}, {} graph(s)", set.graphs().sealed().len());
            report(&settings, &vectors, &data, &queries, &label, &all);
        }
    }
    if raw {
        measure_raw(&data.rows, &queries);
    }
}

/// The library alone, by the same choices, for comparison.
fn measure_raw(rows: &[Vec<f32>], queries: &[Vec<f32>]) {
    let options = usearch::IndexOptions {
        dimensions: DIMENSIONS,
        metric: usearch::MetricKind::Cos,
        quantization: usearch::ScalarKind::BF16,
        connectivity: 16,
        expansion_add: 128,
        expansion_search: 128,
        multi: false,
    };
    let index = usearch::Index::new(&options).expect("an index can be made");
    index.reserve(rows.len()).expect("memory suffices");
    let started = Instant::now();
    for (at, row) in rows.iter().enumerate() {
        index.add(at as u64, row).expect("memory suffices");
    }
    let built = started.elapsed();
    let mut times: Vec<Duration> = Vec::new();
    for query in queries {
        let started = Instant::now();
        index.search(query, FIRST).expect("a search succeeds");
        times.push(started.elapsed());
    }
    times.sort_unstable();
    println!(
        "  the library alone: built in {built:.1?}, p50 {:.2?}, {} MB",
        times[times.len() / 2],
        index.memory_usage() >> 20
    );
}

fn settings() -> Settings {
    let embedders = serde_json::json!({"v": {"source": "userProvided", "dimensions": DIMENSIONS}});
    Settings { embedders: serde_json::from_value(embedders).expect("it is an object"), ..Settings::default() }
}

/// The vectors after a commit of these rows.
fn written<'r>(
    settings: &Settings,
    folder: &Path,
    before: Vectors,
    rows: impl Iterator<Item = (&'r Vec<f32>, u32)>,
) -> Vectors {
    let mut draft = VectorDraft::new(settings, before.into()).expect("vectors can be read");
    for (row, docid) in rows {
        let state = DocumentVectors { user_provided: true, skip_regenerate: true, rows: row.clone() };
        draft.put(docid, Staged::from([("v".to_owned(), state)]));
    }
    draft.write(folder).expect("vectors can be written")
}

fn set_of(vectors: &Vectors) -> std::sync::Arc<engine::vector::VectorSet> {
    vectors.set("v").expect("vectors can be read").expect("there are vectors")
}

fn first(
    settings: &Settings,
    vectors: &Vectors,
    query: &[f32],
    within: &RoaringBitmap,
    count: usize,
) -> Vec<u32> {
    let embedder = &embedders_of(settings)["v"];
    let nearest = Nearest::new(vectors.set("v").expect("it was read"), embedder, &[query.to_vec()]);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut neighbours = nearest.among(within, count, deadline).expect("vectors can be read");
    let mut found = Vec::new();
    while found.len() < count {
        let Some((docids, _)) = neighbours.next_bucket(within).expect("vectors can be read") else { break };
        found.extend(docids);
    }
    found.truncate(count);
    found
}

fn report(
    settings: &Settings,
    vectors: &Vectors,
    data: &Data,
    queries: &[Vec<f32>],
    label: &str,
    within: &RoaringBitmap,
) {
    let (mut times, mut hits, mut due) = (Vec::new(), 0, 0);
    for query in queries {
        let started = Instant::now();
        let found = first(settings, vectors, query, within, FIRST);
        times.push(started.elapsed());
        let worst = truth(&data.rows, query, within);
        due += worst.1;
        // Equally distant documents are as good.
        hits += found
            .iter()
            .filter(|docid| cosine(query, &data.rows[**docid as usize]) >= worst.0 - 1e-6)
            .count();
    }
    times.sort_unstable();
    println!(
        "  {label:28} {:>7} {:>9.1?} {:>9.1?} {:>7.4}",
        within.len(),
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        hits as f64 / due.max(1) as f64
    );
}

/// The cosine of the last of the first ten, and how many there are.
fn truth(rows: &[Vec<f32>], query: &[f32], within: &RoaringBitmap) -> (f64, usize) {
    let mut best: Vec<f64> = Vec::with_capacity(FIRST + 1);
    for docid in within {
        let likeness = cosine(query, &rows[docid as usize]);
        if best.len() == FIRST && likeness <= best[FIRST - 1] {
            continue;
        }
        let at = best.partition_point(|known| *known >= likeness);
        best.insert(at, likeness);
        best.truncate(FIRST);
    }
    (best.last().copied().unwrap_or(f64::INFINITY), best.len())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let (mut product, mut left, mut right) = ([0f32; 8], [0f32; 8], [0f32; 8]);
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for lane in 0..8 {
            product[lane] += a[lane] * b[lane];
            left[lane] += a[lane] * a[lane];
            right[lane] += b[lane] * b[lane];
        }
    }
    let sum = |lanes: [f32; 8]| lanes.iter().map(|lane| f64::from(*lane)).sum::<f64>();
    sum(product) / (sum(left) * sum(right)).sqrt()
}

/// A small generator, so that the same vectors come everywhere. Source: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Roughly normal.
    fn normal(&mut self) -> f32 {
        (0..6).map(|_| self.unit() as f32).sum::<f32>() - 3.0
    }
}

const CLUSTERS: usize = 1000;
const LATENT: usize = 48;

fn clustered(count: usize, random: &mut Random) -> Data {
    let centers: Vec<Vec<f32>> =
        (0..CLUSTERS).map(|_| (0..LATENT).map(|_| random.normal()).collect()).collect();
    let projection: Vec<Vec<f32>> =
        (0..LATENT).map(|_| (0..DIMENSIONS).map(|_| random.normal()).collect()).collect();
    let mut data = Data { rows: Vec::with_capacity(count), groups: Vec::with_capacity(count) };
    for _ in 0..count {
        let group = random.below(CLUSTERS);
        let latent: Vec<f32> = centers[group].iter().map(|center| center + 0.5 * random.normal()).collect();
        let mut row = vec![0f32; DIMENSIONS];
        for (weight, direction) in latent.iter().zip(&projection) {
            row.iter_mut().zip(direction).for_each(|(sum, part)| *sum += weight * part);
        }
        row.iter_mut().for_each(|component| *component += 0.1 * random.normal());
        data.rows.push(row);
        data.groups.push(group);
    }
    data
}

fn sphere(count: usize, random: &mut Random) -> Data {
    let row = |random: &mut Random| (0..DIMENSIONS).map(|_| random.normal()).collect();
    let rows = (0..count).map(|_| row(random)).collect();
    Data { rows, groups: (0..count).map(|at| at % 1000).collect() }
}

fn moved(row: &[f32], random: &mut Random) -> Vec<f32> {
    let scale = row.iter().map(|component| component.abs()).sum::<f32>() / row.len() as f32;
    row.iter().map(|component| component + 0.3 * scale * random.normal()).collect()
}

/// Texts of films as vectors: each word a direction of its own, made from its hash, weighted by rarity.
fn films_of(path: &Path) -> Data {
    let file = std::fs::File::open(path).expect("the films can be read");
    let mut texts: Vec<(Vec<String>, usize)> = Vec::new();
    let mut documents: HashMap<String, f32> = HashMap::new();
    for line in std::io::BufReader::new(file).lines() {
        let film: serde_json::Value =
            serde_json::from_str(&line.expect("lines are text")).expect("lines are JSON");
        let text = ["title", "overview"].map(|field| film[field].as_str().unwrap_or_default()).join(" ");
        let mut words: Vec<String> =
            text.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
        words.retain(|word| word.len() > 2);
        let mut distinct = words.clone();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.into_iter().for_each(|word| *documents.entry(word).or_default() += 1.0);
        texts.push((words, film["year"].as_u64().unwrap_or(0) as usize % 100));
    }
    let total = texts.len() as f32;
    let mut data = Data { rows: Vec::new(), groups: Vec::new() };
    for (words, group) in texts {
        let mut row = vec![0f32; DIMENSIONS];
        for word in &words {
            let seed = word.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            let weight = (total / documents[word]).ln();
            let mut random = Random(seed);
            // Sixteen components a word, as sparse projections do.
            for _ in 0..16 {
                let at = random.below(DIMENSIONS);
                row[at] += if random.next() & 1 == 0 { weight } else { -weight };
            }
        }
        if row.iter().any(|component| *component != 0.0) {
            data.rows.push(row);
            data.groups.push(group);
        }
    }
    data
}

/// Bytes of the process in memory, where the system tells.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.as_deref().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    resident.unwrap_or(0) * 4096
}
