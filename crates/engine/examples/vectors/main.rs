//! Measures the recall, speed and cost of the search for nearest neighbours.
//!
//! `npm run bench:vectors [-- --films FILM_LINES.ndjson] [--vectors N] [--raw] [--churn] [--only NAME]`
//!
//! Sets of vectors: `clustered` (synthetic, 48 latent dimensions), `films` (texts from the file of `--films`, a JSON
//! object per line), `sphere` (uniform, only a stress test because no texts look like it; run only with `--only`).
//! Recall refers to the first ten. `--churn`: rounds in which a twentieth of all vectors changes. `--raw`: the library
//! alone, as compiled here, over the same rows. Exits with 1 if a recall is below its target.

mod data;
mod truth;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use data::{Data, Random};
use roaring::RoaringBitmap;
use siftd_engine::FaultReporter;
use siftd_engine::settings::Settings;
use siftd_engine::vector::{
    ChangedVectors, DocumentVectors, Nearest, Path as Way, StagedVectors, VectorIndex, Vectors, embedders_of,
};
use truth::Truth;

const DIMENSIONS: usize = 384;
const QUERIES: usize = 300;
const FIRST: usize = 10;
const ROUNDS: usize = 20;
/// Queries of a round, each compared with its own exact result.
const ROUND_QUERIES: usize = 100;
/// Rows for the library alone: it is slow without kernels for the processor.
const RAW_ROWS: usize = 20_000;
const KEPT: [f64; 7] = [100.0, 50.0, 20.0, 10.0, 5.0, 1.0, 0.1];
/// Bytes of a graph per vector, with 16-bit components. Source: vectors §10.6.
const GRAPH_BYTES: u64 = DIMENSIONS as u64 * 2 + 145;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let count: usize = value("--vectors").and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let only = value("--only");
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut trial = Trial { raw: has("--raw"), churn: has("--churn"), missed: 0 };
    if wanted("clustered") {
        trial.measure("clustered", data::clustered(count + QUERIES, &mut Random(1)));
    }
    if let Some(films) = value("--films").filter(|_| wanted("films")) {
        trial.measure("films", data::films(Path::new(&films)));
    }
    if wanted("sphere") && only.is_some() {
        trial.measure("sphere", data::sphere(count + QUERIES, &mut Random(3)));
    }
    println!("{} recall(s) below their aim", trial.missed);
    ExitCode::from(u8::from(trial.missed > 0))
}

struct Trial {
    raw: bool,
    churn: bool,
    missed: usize,
}

impl Trial {
    fn measure(&mut self, name: &str, mut data: Data) {
        let queries = data.rows.split_off(data.rows.len() - QUERIES);
        let built = Built::new(&data.rows);
        println!("{name}: {} x {DIMENSIONS}; {}", data.rows.len(), built.costs);
        self.report_filters(&built, &data, &queries);
        let all = RoaringBitmap::from_iter(0..data.rows.len() as u32);
        let asked: Vec<usize> = (0..data.rows.len()).step_by(50).collect();
        let found = asked.iter().filter(|at| {
            let nearest = built.first(&data.rows[**at], &all, 1);
            nearest.first().is_some_and(|docid| data.rows[*docid as usize] == data.rows[**at])
        });
        println!("  find themselves: {} of {} (aim 99.9 %)", found.count(), asked.len());
        if self.churn {
            self.report_churn(built, &mut data, &queries[..ROUND_QUERIES]);
        }
        if self.raw {
            let rows = &data.rows[..RAW_ROWS.min(data.rows.len())];
            println!("  {} rows, one thread: {}", rows.len(), Built::new(rows).costs);
            measure_raw(rows, &queries);
        }
    }

    fn report_filters(&mut self, built: &Built, data: &Data, queries: &[Vec<f32>]) {
        let truth = Truth::new(&data.rows);
        let shares = shares_of(data);
        let mut rows: Vec<(Vec<Duration>, usize, usize)> = vec![Default::default(); shares.len()];
        for query in queries {
            let similarities = truth.similarities(query);
            for ((_, within), (times, due, hits)) in shares.iter().zip(&mut rows) {
                let started = Instant::now();
                let found = built.first(query, within, FIRST);
                times.push(started.elapsed());
                let (wanted, near) = similarities.judge(within, &found);
                *due += wanted;
                *hits += near;
            }
        }
        println!(
            "  {:18} {:>7} {:>9} {:>9} {:>9} {:>7} {:>6}",
            "filter", "kept", "path", "p50", "p99", "recall", "aim"
        );
        for ((label, within), (mut times, due, hits)) in shares.iter().zip(rows) {
            let path = Way::choose(built.index().set().vectors(), within.len(), FIRST);
            let (path, aim) = match path {
                Way::Scan => ("scan".to_owned(), 1.0),
                Way::Walk { list } if within.len() as usize == data.rows.len() => {
                    (format!("walk {list}"), 0.97)
                }
                Way::Walk { list } => (format!("walk {list}"), 0.95),
            };
            times.sort_unstable();
            let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
            let recall = hits as f64 / due.max(1) as f64;
            println!(
                "  {label:18} {:>7} {path:>9} {p50:>9.1?} {p99:>9.1?} {recall:>7.4} {aim:>6}{}",
                within.len(),
                self.verdict(recall, aim)
            );
        }
        println!("  (aims of time, for 100,000: p50 under 1 ms unfiltered and at 1 %)");
    }

    fn report_churn(&mut self, mut built: Built, data: &mut Data, queries: &[Vec<f32>]) {
        let mut random = Random(11);
        for round in 0..=ROUNDS {
            let mut changed: Vec<u32> = Vec::new();
            for docid in 0..data.rows.len() {
                if round > 0 && random.unit() < 0.05 {
                    let other = random.below(data.rows.len());
                    data.rows[docid] = data::moved(&data.rows[other], &mut random);
                    changed.push(docid as u32);
                }
            }
            built.write(changed.iter().map(|docid| (*docid, &data.rows[*docid as usize])));
            let recall = recall(&built, data, queries);
            let graphs = built.index().graphs().sealed().len();
            println!("  round {round}: recall {recall:.4}, {graphs} graph(s){}", self.verdict(recall, 0.97));
        }
        // Changed vectors may be harder or easier for any graph, so a new graph is the reference.
        let rebuilt = recall(&Built::new(&data.rows), data, queries);
        println!("  the same vectors in a new graph: recall {rebuilt:.4}");
    }

    fn verdict(&mut self, recall: f64, aim: f64) -> &'static str {
        let missed = recall < aim;
        self.missed += usize::from(missed);
        if missed { "  missed" } else { "" }
    }
}

/// Returns the share of the true first ten that are found.
fn recall(built: &Built, data: &Data, queries: &[Vec<f32>]) -> f64 {
    let all = RoaringBitmap::from_iter(0..data.rows.len() as u32);
    let truth = Truth::new(&data.rows);
    let (mut due, mut hits) = (0, 0);
    for query in queries {
        let (wanted, near) = truth.similarities(query).judge(&all, &built.first(query, &all, FIRST));
        due += wanted;
        hits += near;
    }
    hits as f64 / due as f64
}

/// Returns random filters, and filters by content: documents of few groups.
fn shares_of(data: &Data) -> Vec<(String, RoaringBitmap)> {
    let all = 0..data.rows.len() as u32;
    let groups = data.groups.iter().max().map_or(1, |most| most + 1) as f64;
    let mut shares = Vec::new();
    for kept in KEPT {
        let mut random = Random(7);
        let share = all.clone().filter(|_| random.unit() < kept / 100.0).collect();
        shares.push((format!("random {kept} %"), share));
        if kept < 100.0 {
            let within = |docid: &u32| (data.groups[*docid as usize] as f64) < groups * kept / 100.0;
            shares.push((format!("by content {kept} %"), all.clone().filter(within).collect()));
        }
    }
    shares
}

/// Vectors as an index stores them, with their graphs.
struct Built {
    settings: Settings,
    folder: tempfile::TempDir,
    vectors: Option<Vectors>,
    /// Description of the building costs.
    costs: String,
}

impl Built {
    fn new(rows: &[Vec<f32>]) -> Self {
        let embedders = serde_json::json!({"v": {"source": "userProvided", "dimensions": DIMENSIONS}});
        let embedders = serde_json::from_value(embedders).expect("it is an object");
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let settings = Settings { embedders, ..Settings::default() };
        let mut built = Self { settings, folder, vectors: None, costs: String::new() };
        let mut staged = built.staged();
        for (docid, row) in (0..).zip(rows) {
            put(&mut staged, docid, row);
        }
        let started = Instant::now();
        built.vectors = Some(
            staged.write(built.folder.path(), &FaultReporter::default()).expect("vectors can be written"),
        );
        let (written, before, spent) = (started.elapsed(), resident_bytes(), processor_time());
        let started = Instant::now();
        built.maintain_graphs();
        let took = started.elapsed();
        let spent = processor_time() - spent;
        let graphs = built.index().graphs().sealed();
        let memory = graphs.iter().map(|graph| graph.memory_bytes() as u64).sum::<u64>();
        built.costs = format!(
            "log in {written:.1?}, {} graph(s) in {took:.1?} ({spent:.1?} of processor time, {:.0} vectors/s), \
             graphs {} MB, resident +{} MB (aim {} MB)",
            graphs.len(),
            rows.len() as f64 / spent.as_secs_f64().max(0.01),
            memory >> 20,
            resident_bytes().saturating_sub(before) >> 20,
            (rows.len() as u64 * GRAPH_BYTES * 3 / 2) >> 20
        );
        built
    }

    fn staged(&mut self) -> StagedVectors {
        let before = self.vectors.take().unwrap_or_default();
        StagedVectors::new(&self.settings, before.into()).expect("vectors can be read")
    }

    /// Commits these rows.
    fn write<'r>(&mut self, rows: impl Iterator<Item = (u32, &'r Vec<f32>)>) {
        let mut staged = self.staged();
        rows.for_each(|(docid, row)| put(&mut staged, docid, row));
        self.vectors = Some(
            staged.write(self.folder.path(), &FaultReporter::default()).expect("vectors can be written"),
        );
        self.maintain_graphs();
    }

    fn maintain_graphs(&self) {
        self.index().maintain_graphs_now().expect("graphs can be built");
    }

    fn index(&self) -> VectorIndex {
        let vectors = self.vectors.as_ref().expect("vectors were written");
        vectors.index("v").expect("vectors can be read").expect("there are vectors")
    }

    fn first(&self, query: &[f32], within: &RoaringBitmap, count: usize) -> Vec<u32> {
        let embedder = &embedders_of(&self.settings)["v"];
        let nearest = Nearest::new(Some(self.index()), embedder, &[query.to_vec()]);
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut neighbours = nearest.among(within, count, deadline).expect("vectors can be read");
        let mut found = Vec::new();
        while found.len() < count {
            let next = neighbours.next_bucket(within).expect("vectors can be read");
            let Some((docids, _)) = next else { break };
            found.extend(docids);
        }
        found.truncate(count);
        found
    }
}

fn put(staged: &mut StagedVectors, docid: u32, row: &[f32]) {
    let state = DocumentVectors {
        user_provided: true,
        skip_regenerate: true,
        rows: row.to_vec(),
        ..Default::default()
    };
    staged.put(docid, ChangedVectors::from([("v".to_owned(), state)]));
}

/// Measures the library alone, with its defaults.
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
    let (started, spent) = (Instant::now(), processor_time());
    for (at, row) in (0..).zip(rows) {
        index.add(at, row).expect("memory suffices");
    }
    let (took, spent) = (started.elapsed(), processor_time() - spent);
    let mut times: Vec<Duration> = Vec::new();
    for query in queries {
        let started = Instant::now();
        index.search(query, FIRST).expect("a search succeeds");
        times.push(started.elapsed());
    }
    times.sort_unstable();
    println!(
        "  the library alone, kernels: {}: built in {took:.1?} ({spent:.1?} of processor time, {:.0} vectors/s), \
         p50 {:.2?}, {} MB",
        index.hardware_acceleration(),
        rows.len() as f64 / spent.as_secs_f64().max(0.01),
        times[times.len() / 2],
        index.memory_usage() >> 20
    );
}

/// Returns the resident bytes of the process; 0 where unknown.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.as_deref().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    resident.unwrap_or(0) * 4096
}

/// Returns the processor time of the process in steps of 10 ms; 0 where unknown.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Duration::from_millis(fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}
