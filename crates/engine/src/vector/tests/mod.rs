//! 1. Sums are added in the same order as in the fallback, and have the same digits.
//! 2. After a crash between any two steps of a commit, the previous commit or the new one is shown, never a mixture.
//! 3. Damage is an error that names the file, never an empty result.
//! 4. Graphs are caches: results stay the same without them, with damaged ones, and after many changes.

mod crash;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use serde_json::{Value as Json, json};

use super::codes::{SIDE_BY_SIDE, code_distance, code_distances, code_of};
use super::distance::{Probe, dot};
use super::graph::Graph;
use super::limits::EXACT_MAX;
use super::nearest::Path as Way;
use super::*;
use crate::background_fault::{BackgroundFaultKind, FaultReporter, ReportedFaults};
use crate::fixture::services_reporting_to;
use crate::settings::Settings;
use crate::{Index, Limits};

const LIMITS: Limits =
    Limits { indexing_memory_bytes: 60_000_000, indexing_threads: 1, cache_bytes: 32 << 20 };

/// Puts documents, or deletes them with null; a batch is a commit.
fn apply(index: &Index, uid: u64, operations: Json) -> Json {
    let batch = json!({"uid": uid, "indexUid": "pts", "operations": operations});
    let ticket = index.prepare(&serde_json::to_vec(&batch).unwrap(), None).unwrap();
    serde_json::from_slice(&index.commit(ticket).unwrap()).unwrap()
}

fn documents(folder: &Path, documents: &[Json]) -> Json {
    let path = folder.join(format!("{}.json", crate::store::unique_name()));
    fs::write(&path, serde_json::to_vec(documents).unwrap()).unwrap();
    json!([{"taskUid": 1, "kind": "documents", "method": "update", "primaryKey": "id", "skipCreation": false,
        "payload": {"path": path, "format": "json"}}])
}

fn embedder(dimensions: usize) -> Json {
    let settings = json!({"embedders": {"v": {"source": "userProvided", "dimensions": dimensions}}});
    json!([{"taskUid": 0, "kind": "settings", "settings": settings.to_string()}])
}

/// Returns the stored vectors of the newest commit by document id.
fn stored(index: &Index) -> Vec<(String, Json)> {
    let request = json!({"indexUid": "pts", "offset": 0, "limit": 1000, "fields": null, "retrieveVectors": true,
        "ids": null, "filter": null, "sort": null});
    let body: Json =
        serde_json::from_slice(&index.documents(&serde_json::to_vec(&request).unwrap()).unwrap()).unwrap();
    let entry =
        |document: &Json| (document["id"].to_string(), document["_vectors"]["v"]["embeddings"].clone());
    body["results"].as_array().unwrap().iter().map(entry).collect()
}

/// Creates an index with a committed document.
fn with_one(folder: &Path) -> PathBuf {
    let path = folder.join("index");
    let index = Index::open(&path, LIMITS).unwrap();
    apply(&index, 1, embedder(2));
    apply(&index, 2, documents(folder, &[json!({"id": 1, "_vectors": {"v": [1, 2]}})]));
    path
}

fn log_of(index: &Path) -> PathBuf {
    let logs = fs::read_dir(index.join(DIRECTORY)).unwrap().map(|entry| entry.unwrap().path());
    let logs: Vec<PathBuf> = logs.filter(|path| path.extension().is_some_and(|it| it == "log")).collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs[0].clone()
}

/// Copies the files that would be on the disk after a crash.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if !entry.file_name().to_string_lossy().starts_with(".tantivy") {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

#[test]
fn sums_run_in_sixteen_lanes_for_any_length() {
    for length in [0, 1, 2, 15, 16, 17, 31, 33, 384, 1000] {
        let a: Vec<f32> = (0..length).map(|at| (at as f32 * 0.37).sin()).collect();
        let b: Vec<f32> = (0..length).map(|at| (at as f32 * 0.11).cos()).collect();
        let mut lanes = [0f32; 16];
        for at in 0..length {
            lanes[at % 16] += a[at] * b[at];
        }
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
        }
        assert_eq!(dot(&a, &b).to_bits(), lanes[0].to_bits(), "{length}");
    }
}

#[test]
fn codes_are_as_far_apart_as_their_vectors() {
    let wave =
        |step: f32, length: usize| -> Vec<f32> { (0..length).map(|at| (at as f32 * step).sin()).collect() };
    for length in [1, 2, 31, 32, 33, 384, 1000] {
        for size in [1e-30, 1.0, 1e30] {
            let (a, b) = (wave(0.37, length), wave(0.41, length));
            let large =
                |a: &[f32]| code_of(&a.iter().map(|it| (it + 1.1) * size).collect::<Vec<_>>()).unwrap();
            let cosine = {
                let sum = |f: fn(f32, f32) -> f32| -> f32 {
                    a.iter().zip(&b).map(|(a, b)| f(a + 1.1, b + 1.1)).sum()
                };
                sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt()
            };
            let distance = code_distance(&large(&a), &large(&b));
            assert!((distance - (1.0 - cosine)).abs() < 0.005, "{length} x {size}: {distance}, {cosine}");
        }
    }
    assert!(code_of(&[0.0, -0.0]).is_none(), "without direction");
    assert!(code_of(&[]).is_none());
    let opposite = [vec![f32::MAX; 64], vec![f32::MIN; 64]].map(|vector| code_of(&vector).unwrap());
    assert!((code_distance(&opposite[0], &opposite[1]) - 2.0).abs() < 1e-5);
}

#[test]
fn codes_compared_together_have_the_same_distances_as_one_by_one() {
    let wave = |step: f32| -> Vec<i8> {
        code_of(&(0..100).map(|at| (at as f32 * step).sin()).collect::<Vec<_>>()).unwrap()
    };
    let codes: [Vec<i8>; SIDE_BY_SIDE] = std::array::from_fn(|at| wave(0.3 + 0.07 * at as f32));
    let probe = wave(0.4);
    let together = code_distances(&probe, std::array::from_fn(|at| &codes[at][..]));
    let alone: Vec<f32> = codes.iter().map(|code| code_distance(&probe, code)).collect();
    assert_eq!(together.as_slice(), alone);
}

#[test]
fn bits_differ_by_padded_words() {
    let probe = |vector: &[f32]| Probe::new(vector, true);
    let Probe::Bits { bits } = probe(&[0.2, -0.1, 0.5, 0.0]) else { panic!("bits are asked for") };
    assert_eq!(probe(&[1.0, -1.0, 1.0, -1.0]).distance(&bits), 0.0);
    assert_eq!(probe(&[-1.0, -3.0, 2.0, 1.0]).distance(&bits), 2.0 / 64.0);
}

#[test]
fn an_uncommitted_append_to_a_log_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_one(folder.path());
    let before = stored(&Index::open(&path, LIMITS).unwrap());
    // The next commit appends to the log, and the machine stops before a commit contains the new end.
    let crashed = folder.path().join("crashed");
    let index = Index::open(&path, LIMITS).unwrap();
    copy(&path, &crashed);
    apply(&index, 3, documents(folder.path(), &[json!({"id": 1, "_vectors": {"v": [[5, 6], [7, 8]]}})]));
    let after = stored(&index);
    let whole = fs::read(log_of(&path)).unwrap();
    let committed = fs::metadata(log_of(&crashed)).unwrap().len() as usize;
    // Any part of the append may have reached the disk.
    for end in committed..=whole.len() {
        fs::write(log_of(&crashed), &whole[..end]).unwrap();
        let reopened = Index::open(&crashed, LIMITS).unwrap();
        assert_eq!(stored(&reopened), before, "{end} bytes");
    }
    // Then commits the same batch over the remaining bytes.
    let reopened = Index::open(&crashed, LIMITS).unwrap();
    apply(&reopened, 3, documents(folder.path(), &[json!({"id": 1, "_vectors": {"v": [[5, 6], [7, 8]]}})]));
    assert_eq!(stored(&reopened), after);
    drop(reopened);
    assert_eq!(stored(&Index::open(&crashed, LIMITS).unwrap()), after);
    assert_eq!(fs::read(log_of(&crashed)).unwrap(), whole);
}

#[test]
fn a_commit_with_unread_vectors_survives_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_one(folder.path());
    let crashed = folder.path().join("crashed");
    let index = Index::open(&path, LIMITS).unwrap();
    let report = apply(
        &index,
        3,
        documents(
            folder.path(),
            &[json!({"id": 1, "_vectors": {"v": null}}), json!({"id": 2, "_vectors": {"v": [3, 4]}})],
        ),
    );
    copy(&path, &crashed);
    let reopened = Index::open(&crashed, LIMITS).unwrap();
    assert_eq!(stored(&reopened), stored(&index));
    let again: Json = serde_json::from_slice(&reopened.last_commit().unwrap().unwrap()).unwrap();
    assert_eq!(again, report);
    assert_eq!(reopened.stats().unwrap().number_of_embeddings, 1);
}

#[test]
fn a_damaged_log_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_one(folder.path());
    let log = log_of(&path);
    let whole = fs::read(&log).unwrap();
    let complaint = |content: &[u8]| {
        fs::write(&log, content).unwrap();
        let index = Index::open(&path, LIMITS).unwrap();
        let damages = index.verify().unwrap();
        assert!(damages.iter().any(|damage| damage.path == log.display().to_string()), "{damages:?}");
        index.stats().unwrap_err().to_string()
    };
    for at in [0, 9, 13, 18, 25, 33, 40, whole.len() - 1] {
        let mut broken = whole.clone();
        broken[at] ^= 0x10;
        assert!(complaint(&broken).contains(&log.display().to_string()), "byte {at}");
    }
    assert!(complaint(&whole[..whole.len() - 3]).contains("its commit"));
}

#[test]
fn a_snapshot_contains_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_one(folder.path());
    let index = Index::open(&path, LIMITS).unwrap();
    let target = folder.path().join("snapshot");
    index.pin().unwrap().copy_to(&target).unwrap();
    assert_eq!(stored(&Index::open(&target, LIMITS).unwrap()), stored(&index));
}

#[test]
fn a_mostly_dead_log_is_rewritten_with_the_same_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let index = Index::open(&path, LIMITS).unwrap();
    apply(&index, 1, embedder(512));
    let vector = |seed: usize| (0..512).map(|at| ((at * seed) % 97) as f32 - 48.0).collect::<Vec<f32>>();
    for round in 0..8u64 {
        let rows: Vec<Json> = (0..200usize)
            .map(|id| json!({"id": id, "_vectors": {"v": vector(id + 7 * round as usize)}}))
            .collect();
        apply(&index, 2 + round, documents(folder.path(), &rows));
    }
    let bytes = fs::metadata(log_of(&path)).unwrap().len();
    assert!(bytes < 4 * 200 * 512 * 4, "{bytes} bytes of 200 documents");
    let before = stored(&index);
    assert_eq!(before[3].1, json!([vector(3 + 49)]));
    drop(index);
    assert_eq!(stored(&Index::open(&path, LIMITS).unwrap()), before);
}

#[test]
fn few_candidates_are_scanned_and_many_walked() {
    let scan = [(20_000, 20_000, 20), (100_000, 20_000, 20), (100_000, 22_000, 20), (1_000_000, 71_000, 1)];
    for (vectors, in_play, wanted) in scan {
        assert_eq!(Way::choose(vectors, in_play, wanted), Way::Scan, "{in_play} of {vectors}");
    }
    assert_eq!(Way::choose(100_000, 100_000, 10_000), Way::Scan, "most of all are wanted");
    for (vectors, in_play, wanted, list) in
        [(100_000, 50_000, 10, 192), (100_000, 100_000, 20, 384), (5_000_000, 400_000, 1000, 1536)]
    {
        assert_eq!(Way::choose(vectors, in_play, wanted), Way::Walk { list }, "{in_play} of {vectors}");
    }
}

/// Returns a vector in a cluster, the same in every run.
fn row(docid: u32) -> Vec<f32> {
    let mut state = u64::from(docid).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let cluster = docid % 50;
    (0..16).map(|at| ((cluster * 31 + at * 7) % 17) as f32 / 8.5 - 1.0 + 0.6 * noise()).collect()
}

fn settings() -> Settings {
    let embedders = json!({"v": {"source": "userProvided", "dimensions": 16}});
    Settings { embedders: serde_json::from_value(embedders).unwrap(), ..Settings::default() }
}

fn written(folder: &Path, before: Vectors, docids: impl Iterator<Item = u32>, shift: u32) -> Vectors {
    let mut staged = StagedVectors::new(&settings(), Arc::new(before)).unwrap();
    for docid in docids {
        let state = DocumentVectors {
            user_provided: true,
            skip_regenerate: true,
            rows: row(docid + shift),
            ..Default::default()
        };
        staged.put(docid, ChangedVectors::from([("v".to_owned(), state)]));
    }
    staged.write(folder, &FaultReporter::default()).unwrap()
}

fn first_ten(index: &VectorIndex, query: &[f32], within: &RoaringBitmap, graphs: bool) -> Vec<u32> {
    let nearest = Nearest::new(Some(index.clone()), &embedders_of(&settings())["v"], &[query.to_vec()]);
    let deadline = Instant::now() + Duration::from_secs(60);
    let wanted = if graphs { 10 } else { usize::MAX };
    let mut neighbours = nearest.among(within, wanted, deadline).unwrap();
    let mut found = Vec::new();
    while found.len() < 10 {
        found.extend(neighbours.next_bucket(within).unwrap().unwrap().0);
    }
    found.truncate(10);
    found
}

/// Returns the share of the true first ten that are found with graphs.
fn recall(index: &VectorIndex, within: &RoaringBitmap) -> f64 {
    let found = (0..40).map(|query| {
        let query = row(1_000_003 + query);
        let truth = first_ten(index, &query, within, false);
        first_ten(index, &query, within, true).iter().filter(|docid| truth.contains(docid)).count()
    });
    found.sum::<usize>() as f64 / 400.0
}

/// Returns documents in order with their scores, up to the last one that the caller wants.
fn in_order(
    index: &VectorIndex,
    query: &[f32],
    within: &RoaringBitmap,
    wanted: usize,
) -> Vec<(Vec<u32>, f32)> {
    let nearest = Nearest::new(Some(index.clone()), &embedders_of(&settings())["v"], &[query.to_vec()]);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut neighbours = nearest.among(within, wanted, deadline).unwrap();
    let next =
        || neighbours.next_bucket(within).unwrap().map(|(docids, score)| (docids.iter().collect(), score));
    std::iter::from_fn(next).collect()
}

#[test]
fn codes_narrow_a_scan_without_changing_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let mut staged = StagedVectors::new(&settings(), Arc::new(Vectors::default())).unwrap();
    for docid in 0..3000u32 {
        let mut rows = row(docid);
        match docid % 100 {
            // Covers identical vectors, several vectors, vectors of length 0, a vector with a dominating component, and
            // tiny vectors.
            7 => rows = row(docid - 7),
            11 => rows.extend(row(docid + 5000)),
            13 if docid % 1300 == 13 => rows = vec![0.0; 16],
            17 => rows[3] = 1e6,
            19 => rows.iter_mut().for_each(|component| *component *= 1e-30),
            _ => {}
        }
        let state =
            DocumentVectors { user_provided: true, skip_regenerate: true, rows, ..Default::default() };
        staged.put(docid, ChangedVectors::from([("v".to_owned(), state)]));
    }
    let written = staged.write(folder.path(), &FaultReporter::default()).unwrap();
    let index = written.index("v").unwrap().unwrap();
    let all: RoaringBitmap = (0..3000).collect();
    let some: RoaringBitmap = (0..3000).filter(|docid| docid % 7 < 3).collect();
    for query in [row(7), row(1_000_003), row(17).iter().map(|it| it * 1e30).collect(), vec![0.0; 16]] {
        for within in [&all, &some] {
            let whole = in_order(&index, &query, within, usize::MAX);
            assert_eq!(whole.iter().map(|(docids, _)| docids.len()).sum::<usize>(), within.len() as usize);
            for wanted in [1, 10, 40] {
                assert!(in_order(&index, &query, within, wanted) == whole, "{wanted} of {}", within.len());
            }
        }
    }
}

#[test]
fn graphs_find_the_results_of_a_scan_and_may_be_lost() {
    let count = EXACT_MAX as u32 + 5000;
    let folder = tempfile::tempdir().unwrap();
    let all = RoaringBitmap::from_iter(0..count + 500);
    let mut vectors = written(folder.path(), Vectors::default(), 0..count, 0);
    let index = vectors.index("v").unwrap().unwrap();
    index.maintain_graphs_now().unwrap();
    assert_eq!(index.graphs().sealed().len(), 1);
    assert!(recall(&index, &all) >= 0.97);
    let itself = |docid: &u32| first_ten(&index, &row(*docid), &all, true)[0] == *docid;
    assert_eq!((0..count).step_by(10).filter(itself).count(), count as usize / 10, "each finds itself");
    let odd: RoaringBitmap = (0..count).filter(|docid| docid % 20 != 0).collect();
    assert!(recall(&index, &odd) >= 0.95);

    // Newer vectors are in no graph, and replaced ones are no longer proposed.
    vectors = written(folder.path(), vectors, count..count + 500, 0);
    vectors = written(folder.path(), vectors, (0..2000).map(|at| at * 10), 500_000);
    let index = vectors.index("v").unwrap().unwrap();
    assert!(recall(&index, &all) >= 0.97);
    let fresh = row(500_010);
    assert_eq!(first_ten(&index, &fresh, &all, true)[0], 10);

    // Graphs are read from their files; then a damaged one is rebuilt.
    let logs = vectors.logs();
    let faults = ReportedFaults::default();
    let reopen = || Vectors::of_commit(folder.path(), &logs, &faults.reporter()).index("v").unwrap().unwrap();
    let again = reopen();
    again.maintain_graphs_now().unwrap();
    assert_eq!(again.graphs().sealed()[0].keys(), u64::from(count) + 2500, "later vectors are added");
    let graph = fs::read_dir(folder.path().join(DIRECTORY)).unwrap().map(|entry| entry.unwrap().path());
    let graph = graph.into_iter().find(|path| path.extension().is_some_and(|it| it == "graph")).unwrap();
    let mut bytes = fs::read(&graph).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&graph, &bytes).unwrap();
    assert!(Graph::load(&graph, 16).is_err_and(|error| error.to_string().contains("checksum")));
    assert_eq!(faults.take(), []);
    let again = reopen();
    again.maintain_graphs_now().unwrap();
    assert_eq!(again.graphs().sealed()[0].keys(), u64::from(count) + 500, "rebuilt with the newest vectors");
    let reported = faults.take();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!((reported[0].kind, &reported[0].file), (BackgroundFaultKind::VectorGraph, &graph));
    assert!(reported[0].reason.contains("checksum"), "{}", reported[0].reason);
    assert!(recall(&again, &all) >= 0.97);
}

#[test]
fn a_graph_that_cannot_be_written_is_reported_and_used_from_memory() {
    let count = EXACT_MAX as u32 + 1;
    let folder = tempfile::tempdir().unwrap();
    let logs = written(folder.path(), Vectors::default(), 0..count, 0).logs();
    let faults = ReportedFaults::default();
    let reporter = faults.reporter().of_index("pts");
    let index = Vectors::of_commit(folder.path(), &logs, &reporter).index("v").unwrap().unwrap();
    let directory = folder.path().join(DIRECTORY);
    let lineage = logs["v"].file.split('.').next().unwrap();
    // Graphs are written under this name before they are renamed. Creating a file fails if a directory has its name.
    fs::create_dir(directory.join(format!("{lineage}.0-{count}.new"))).unwrap();
    index.maintain_graphs();
    let reported = wait_for(|| Some(faults.take()).filter(|faults| !faults.is_empty()));
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!((reported[0].kind, &reported[0].file), (BackgroundFaultKind::VectorGraph, &directory));
    assert_eq!(reported[0].index.as_deref(), Some("pts"));
    assert_eq!(index.graphs().sealed().len(), 1);
}

#[test]
fn graphs_of_another_process_are_read_and_none_is_written() {
    let count = EXACT_MAX as u32 + 1;
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join(DIRECTORY);
    let vectors = written(folder.path(), Vectors::default(), 0..count, 0);
    let follow = |logs: &Vectors, before: Option<&Vectors>| {
        Vectors::followed(folder.path(), &logs.logs(), &FaultReporter::default(), before).unwrap()
    };
    let names = || {
        let names = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".graph")).collect();
        names.sort();
        names
    };
    let followed = follow(&vectors, None);
    let index = followed.index("v").unwrap().unwrap();
    index.maintain_graphs_now().unwrap();
    let reach = |index: &VectorIndex| index.graphs().sealed().iter().map(|graph| graph.keys()).sum::<u64>();
    assert_eq!(reach(&index), u64::from(count));
    assert!(names().is_empty());

    // The file of a later commit reaches further than the graph built in memory.
    let vectors = written(folder.path(), vectors, count..count + 9000, 0);
    vectors.index("v").unwrap().unwrap().maintain_graphs_now().unwrap();
    let files = names();
    assert_eq!(files.len(), 1);
    let later = follow(&vectors, Some(&followed));
    let index = later.index("v").unwrap().unwrap();
    assert_eq!(reach(&index), u64::from(count), "files are read only in the background");
    index.maintain_graphs_now().unwrap();
    assert_eq!(reach(&index), u64::from(count) + 9000);
    assert_eq!(index.graphs().sealed().len(), 1);
    let all = RoaringBitmap::from_iter(0..count + 9000);
    assert!(recall(&index, &all) >= 0.97);

    // A follower leaves a damaged graph file to the writer, and builds the graph in memory.
    fs::write(directory.join(&files[0]), "damaged").unwrap();
    let again = follow(&vectors, None).index("v").unwrap().unwrap();
    again.maintain_graphs_now().unwrap();
    assert_eq!(reach(&again), u64::from(count) + 9000);
    assert_eq!(fs::read(directory.join(&files[0])).unwrap(), b"damaged");
    assert_eq!(names(), files);
}

#[test]
fn a_stale_log_that_cannot_be_removed_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_one(folder.path());
    let left = path.join(DIRECTORY).join("left.log");
    fs::create_dir(&left).unwrap();
    let faults = ReportedFaults::default();
    let index =
        Index::open_with(&path, LIMITS, services_reporting_to(faults.reporter().of_index("pts"))).unwrap();
    assert_eq!(faults.take(), []);
    apply(&index, 3, documents(folder.path(), &[json!({"id": 2, "_vectors": {"v": [3, 4]}})]));
    let reported = faults.take();
    assert!(!reported.is_empty());
    for fault in reported {
        assert_eq!((fault.kind, &fault.file), (BackgroundFaultKind::FileRemoval, &left));
    }
    assert_eq!(stored(&index).len(), 2);
}

/// Polls `poll` until background work has the expected result.
fn wait_for<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(Instant::now() < deadline, "the background work had no result");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn recall_does_not_fall_over_many_rounds_of_changes() {
    let count = EXACT_MAX as u32 + 2000;
    let folder = tempfile::tempdir().unwrap();
    let all = RoaringBitmap::from_iter(0..count);
    let mut vectors = written(folder.path(), Vectors::default(), 0..count, 0);
    let index = vectors.index("v").unwrap().unwrap();
    index.maintain_graphs_now().unwrap();
    let before = recall(&index, &all);
    for round in 1..=20u32 {
        let changed = (0..count).filter(|docid| docid % 20 == round % 20);
        vectors = written(folder.path(), vectors, changed, round * 40_000);
        let index = vectors.index("v").unwrap().unwrap();
        index.maintain_graphs_now().unwrap();
    }
    let index = vectors.index("v").unwrap().unwrap();
    assert_eq!(index.set().vectors(), u64::from(count));
    assert!(recall(&index, &all) >= before - 0.01);
}
