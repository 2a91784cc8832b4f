//! Crashes between any two steps of a commit, and kills of a process that commits and builds graphs.
//!
//! The oracle executes the list of batches on a map. Source: vectors §10.7.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io};

use serde_json::{Value as Json, json};
use tantivy::directory::FileSlice;

use super::{LIMITS, Vectors, apply, copy, documents, embedder};
use crate::Index;
use crate::background_fault::FaultReporter;
use crate::indexing::{Batch, StagedBatch, WriteOptions, layout, write};
use crate::store::{CommitRecord, Committed, Disk, DiskFile, Folder, IndexDirectory};

/// A disk that copies the complete index before each of its operations.
#[derive(Debug)]
struct Watched {
    folder: Folder,
    copies: PathBuf,
    taken: Arc<Mutex<Vec<(String, PathBuf)>>>,
}

impl Watched {
    fn before(&self, step: &str, name: &str) {
        let mut taken = self.taken.lock().unwrap();
        let target = self.copies.join(taken.len().to_string());
        copy(self.folder.path(), &target);
        taken.push((format!("{step} {name}"), target));
    }
}

impl Disk for Watched {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.before("create", name);
        self.folder.create(name)
    }

    fn open(&self, name: &str) -> io::Result<FileSlice> {
        self.folder.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.before("rename", to);
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.before("remove", name);
        self.folder.remove(name)
    }

    fn faults(&self) -> &FaultReporter {
        self.folder.faults()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.before("sync the names of", "all");
        self.folder.sync_names()
    }

    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        self.folder.list()
    }
}

/// Returns the documents of an index and their vectors, as readers see them.
fn seen(index: &Index) -> String {
    let request = json!({"indexUid": "pts", "offset": 0, "limit": 100_000, "fields": null, "retrieveVectors": true,
        "ids": null, "filter": null, "sort": null});
    let body = index.documents(&serde_json::to_vec(&request).unwrap()).unwrap();
    let body: Json = serde_json::from_slice(&body).unwrap();
    let mut texts: Vec<String> = body["results"].as_array().unwrap().iter().map(Json::to_string).collect();
    texts.sort_unstable();
    texts.join("\n")
}

/// Returns the batches of the deterministic trial: an append, a replacement, a new embedder, other dimensions for
/// stored vectors, a log rewritten as bits, a removed embedder.
fn operations(folder: &Path) -> Vec<Json> {
    let settings = |embedders: Json| {
        let settings = json!({ "embedders": embedders }).to_string();
        json!([{"taskUid": 0, "kind": "settings", "settings": settings}])
    };
    let v = |binary: bool| json!({"source": "userProvided", "dimensions": 2, "binaryQuantized": binary});
    vec![
        settings(json!({"v": v(false)})),
        documents(
            folder,
            &[json!({"id": 1, "_vectors": {"v": [1, 2]}}), json!({"id": 2, "_vectors": {"v": null}})],
        ),
        documents(
            folder,
            &[json!({"id": 1, "_vectors": {"v": [[3, 4], [5, 6]]}}), json!({"id": 2, "t": "x"})],
        ),
        json!([{"taskUid": 1, "kind": "deleteByIds", "ids": ["2"]}]),
        settings(json!({"v": v(true)})),
        documents(folder, &[json!({"id": 3, "_vectors": {"v": [-1, 6]}})]),
        settings(json!({})),
        documents(folder, &[json!({"id": 3, "_vectors": {"v": [7, 8]}})]),
        settings(json!({"v": v(false)})),
    ]
}

/// Makes a commit step by step, as `Index` does. Calls `after` after each step.
fn commit(
    path: &Path,
    directory: &IndexDirectory,
    previous: Option<&Committed>,
    batch: &Json,
    mut after: impl FnMut(&str),
) -> Committed {
    let batch: Batch = serde_json::from_value(batch.clone()).unwrap();
    let mut staged =
        StagedBatch::new(&batch, previous.map(|previous| previous.snapshot.clone()), Default::default())
            .unwrap();
    staged.apply(batch).unwrap();
    after("prepared");
    let options =
        WriteOptions { threads: 1, memory_bytes: 50_000_000, spill: directory.spill(&Arc::default()) };
    let change = write(&staged, &layout(), &options).unwrap();
    after("segments written");
    let vectors = staged.vectors.write(path, &FaultReporter::default()).unwrap();
    after("vectors written");
    let parts = staged.parts();
    let record = CommitRecord {
        report: json!({ "batchUid": staged.batch_uid }),
        primary_key: parts.primary_key.clone(),
        vectors: vectors.logs(),
        analysis: None,
        dictionaries: Default::default(),
    };
    let committed = directory.commit(previous, change, parts, record).unwrap();
    after("committed");
    vectors.remove_stale(path, &FaultReporter::default());
    after("old logs removed");
    committed.snapshot.attachments().put(Arc::new(vectors));
    committed
}

#[test]
fn after_a_crash_between_any_two_steps_vectors_belong_to_a_complete_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copies) = (folder.path().join("index"), folder.path().join("copies"));
    fs::create_dir_all(&path).unwrap();
    let taken: Arc<Mutex<Vec<(String, PathBuf)>>> = Arc::default();
    let watched =
        Watched { folder: Folder::open(&path).unwrap(), copies: copies.clone(), taken: Arc::clone(&taken) };
    let (directory, _) = IndexDirectory::open_disk(Arc::new(watched), layout()).unwrap();
    let (mut newest, mut before): (Option<Committed>, Option<String>) = (None, None);
    let mut checked = 0;
    for (uid, operations) in (1u64..).zip(operations(folder.path())) {
        taken.lock().unwrap().clear();
        let batch = json!({"uid": uid, "indexUid": "pts", "operations": operations});
        let note = |step: &str| {
            let mut taken = taken.lock().unwrap();
            let target = copies.join(taken.len().to_string());
            copy(&path, &target);
            taken.push((format!("after {step}"), target));
        };
        let committed = commit(&path, &directory, newest.as_ref(), &batch, note);
        newest = Some(committed);
        let after = seen(&Index::open(&path, LIMITS).unwrap());
        for (step, copied) in taken.lock().unwrap().iter() {
            // For any set of steps that reached the disk, the index shows the complete previous commit or this one.
            let index = Index::open(copied, LIMITS).unwrap();
            let found = index.last_commit().unwrap().map(|_| seen(&index));
            let expected = [before.as_ref(), Some(&after)];
            assert!(expected.contains(&found.as_ref()), "batch {uid}, {step}: {found:?}");
            if step == "after committed" || step == "after old logs removed" {
                assert_eq!(found.as_ref(), Some(&after), "batch {uid}, {step}");
            }
            // Then commits the same batch, or the next one, over the remaining files.
            let again: Json = json!({"uid": uid, "indexUid": "pts", "operations": operations});
            let ticket = index.prepare(&serde_json::to_vec(&again).unwrap(), None).unwrap();
            index.commit(ticket).unwrap();
            assert_eq!(seen(&index), after, "batch {uid} again, {step}");
            assert!(index.verify().unwrap().is_empty(), "batch {uid} again, {step}");
            checked += 1;
        }
        fs::remove_dir_all(&copies).unwrap();
        before = Some(after);
    }
    assert!(checked > 9 * 8, "{checked} moments");
}

const DIMENSIONS: usize = 16;
/// Enough vectors for graphs to be built, extended and discarded while the process is killed.
const DOCUMENTS: u64 = 21_000;
const CHANGES: u64 = 1_500;
const KILLS: u64 = 8;

/// Returns the content of a document in a batch, the same in every run; `None` if the batch deletes it.
fn content_of(uid: u64, id: u64) -> Option<Json> {
    let mut state = (uid << 32 | id).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 40
    };
    if next() % 10 == 0 {
        return None;
    }
    let mut vector = || (0..DIMENSIONS).map(|_| next() as i64 % 2001 - 1000).collect::<Vec<i64>>();
    let vectors = [vector(), vector()];
    Some(json!(vectors[..1 + (id as usize + uid as usize) % 2]))
}

/// Returns the ids of the documents in a batch.
fn ids_of(uid: u64) -> impl Iterator<Item = u64> {
    let (first, count) = if uid == 2 { (0, DOCUMENTS) } else { (uid * 7919 % DOCUMENTS, CHANGES) };
    (first..first + count).map(|id| id % DOCUMENTS)
}

fn batch_of(folder: &Path, uid: u64) -> Json {
    if uid == 1 {
        return embedder(DIMENSIONS);
    }
    let (mut put, mut gone) = (Vec::new(), Vec::new());
    for id in ids_of(uid) {
        match content_of(uid, id) {
            Some(v) => put.push(json!({"id": id, "_vectors": {"v": v}})),
            None => gone.push(id.to_string()),
        }
    }
    let mut operations = documents(folder, &put);
    operations.as_array_mut().unwrap().push(json!({"taskUid": 2, "kind": "deleteByIds", "ids": gone}));
    operations
}

/// Executes the acknowledged batches on a map.
fn oracle(last: u64) -> String {
    let mut expected: BTreeMap<u64, Json> = BTreeMap::new();
    for uid in 2..=last {
        for id in ids_of(uid) {
            match content_of(uid, id) {
                Some(v) => expected.insert(id, v),
                None => expected.remove(&id),
            };
        }
    }
    let float = |it: &Json| json!(it.as_i64().unwrap() as f32);
    let floats = |v: &Json| -> Json { v.as_array().unwrap().iter().map(float).collect() };
    let texts = expected.iter().map(|(id, v)| {
        let embeddings: Json = v.as_array().unwrap().iter().map(floats).collect();
        json!({"id": id, "_vectors": {"v": {"embeddings": embeddings, "regenerate": false}}}).to_string()
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.join("\n")
}

fn last_batch(index: &Index) -> u64 {
    let report = index.last_commit().unwrap();
    report.map_or(0, |report| serde_json::from_slice::<Json>(&report).unwrap()["batchUid"].as_u64().unwrap())
}

const CHILD: &str = "VECTORS_KILLED_IN";

#[test]
#[ignore = "the process that the next test kills"]
fn commits_until_killed() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let folder = PathBuf::from(folder);
    let index = Index::open(&folder.join("index"), LIMITS).unwrap();
    for uid in last_batch(&index) + 1.. {
        apply(&index, uid, batch_of(&folder, uid));
        let mut line = String::new();
        writeln!(line, "applied {uid}").unwrap();
        io::stdout().write_all(line.as_bytes()).unwrap();
    }
}

fn start(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "vector::tests::crash::commits_until_killed", "--ignored", "--nocapture"]);
    child.env(CHILD, folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_repeatedly_killed_process_loses_no_vector() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut acknowledged = 0;
    for kill in 0..KILLS {
        let mut child = start(folder.path());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let applied =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("applied ")?.parse().ok());
        let mut seen_here = 0;
        for uid in applied {
            acknowledged = uid;
            seen_here += 1;
            // Kills the process during one of the following batches, each time a little later.
            if seen_here > kill % 3 && uid > 2 {
                std::thread::sleep(Duration::from_millis(kill * 13 % 100));
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let index = Index::open(&path, LIMITS).unwrap();
        let last = last_batch(&index);
        assert!(last == acknowledged || last == acknowledged + 1, "{last} after {acknowledged}");
        assert!(seen(&index) == oracle(last), "kill {kill}: not what {last} batches make");
        assert!(index.verify().unwrap().is_empty());
        index.close();
    }
    assert!(acknowledged > KILLS);
    // Unfinished graphs are rebuilt with all vectors.
    let vectors = Vectors::of(&Index::open(&path, LIMITS).unwrap().snapshot().unwrap());
    let index = vectors.index("v").unwrap().unwrap();
    index.maintain_graphs_now().unwrap();
    assert_eq!(index.graphs().sealed().len(), 1);
}
