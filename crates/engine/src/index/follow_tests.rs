//! 1. A commit shares open segments with the previous one, unless their file was replaced.
//! 2. If a commit does not open, the previous one stays. A running search keeps its commit.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{Index, Limits};
use crate::background_fault::FaultReporter;
use crate::fixture::services_reporting_to;
use crate::store::{Attachments, Snapshot};

const LIMITS: Limits =
    Limits { indexing_memory_bytes: 60_000_000, indexing_threads: 1, cache_bytes: 32 << 20 };

/// A written index, and a directory for an index that follows it.
struct Pair {
    home: tempfile::TempDir,
    writer: Index,
    batches: u64,
}

impl Pair {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let writer = Index::open(&home.path().join("written"), LIMITS).unwrap();
        Self { home, writer, batches: 0 }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("followed")
    }

    fn put(&mut self, from: u32, to: u32) {
        let documents: Vec<Json> =
            (from..to).map(|id| json!({"id": id, "title": format!("quiet lamp number {id}")})).collect();
        let body = self.home.path().join("body.json");
        fs::write(&body, json!(documents).to_string()).unwrap();
        self.apply(
            json!({"kind": "documents", "method": "replace", "primaryKey": "id", "skipCreation": false,
            "payload": {"path": body, "format": "json"}}),
        );
    }

    fn apply(&mut self, operation: Json) {
        self.batches += 1;
        let mut operation = operation;
        operation["taskUid"] = json!(self.batches);
        let batch = json!({"uid": self.batches, "indexUid": "lamps", "operations": [operation]});
        self.writer.commit(self.writer.prepare(batch.to_string().as_bytes(), None).unwrap()).unwrap();
    }

    /// Copies the files of the newest commit to the directory of the follower.
    fn copy_files(&self) {
        fs::create_dir_all(self.path()).unwrap();
        for entry in fs::read_dir(self.home.path().join("written")).unwrap() {
            let entry = entry.unwrap();
            let target = self.path().join(entry.file_name());
            if entry.path().is_file() && !target.exists() {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }

    fn follow(&self) -> Index {
        Index::follow(&self.path(), LIMITS, services_reporting_to(FaultReporter::default())).unwrap()
    }
}

fn count(snapshot: &Snapshot) -> u64 {
    snapshot.documents().len()
}

fn opened(snapshot: &Snapshot) -> Vec<*const Attachments> {
    snapshot.segments().iter().map(|segment| std::ptr::from_ref(segment.attachments())).collect()
}

fn commit_files(path: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<PathBuf> =
        names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("commit-")).collect();
    names.sort();
    names
}

#[test]
fn a_commit_shares_unchanged_segments() {
    let mut pair = Pair::new();
    pair.put(0, 50);
    pair.put(50, 60);
    pair.copy_files();
    let followed = pair.follow();
    let first = followed.snapshot().unwrap();
    assert_eq!(count(&first), 60);
    pair.put(60, 70);
    pair.apply(json!({"kind": "deleteByIds", "ids": ["3", "55"]}));
    pair.copy_files();
    assert_eq!(count(&followed.snapshot().unwrap()), 60, "nothing was adopted yet");
    followed.adopt().unwrap();
    let second = followed.snapshot().unwrap();
    assert_eq!(count(&second), 68);
    assert_eq!(second.documents(), pair.writer.snapshot().unwrap().documents());
    assert_eq!(opened(&first), opened(&second)[..2]);
    assert_eq!(count(&first), 60, "a search that began keeps its commit");
    assert!(first.source(3).unwrap().is_some());
    assert!(second.source(3).unwrap().is_none());
    // Deletes more documents of a segment that has deletions.
    pair.apply(json!({"kind": "deleteByIds", "ids": ["4"]}));
    pair.copy_files();
    followed.adopt().unwrap();
    let third = followed.snapshot().unwrap();
    assert_eq!(opened(&second), opened(&third));
    assert_eq!(third.documents(), pair.writer.snapshot().unwrap().documents());
    followed.adopt().unwrap();
    assert_eq!(opened(&third), opened(&followed.snapshot().unwrap()), "the same commit once more");
}

#[cfg(unix)]
#[test]
fn a_segment_with_a_replaced_file_is_reopened() {
    let mut pair = Pair::new();
    pair.put(0, 50);
    pair.put(50, 60);
    pair.copy_files();
    let followed = pair.follow();
    let before = opened(&followed.snapshot().unwrap());
    let first = commit_files(&pair.path()).remove(0);
    let other = first.with_extension("other");
    fs::copy(&first, &other).unwrap();
    fs::rename(&other, &first).unwrap();
    followed.adopt().unwrap();
    let after = opened(&followed.snapshot().unwrap());
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1], after[1]);
}

#[test]
fn the_previous_commit_stays_if_the_newest_does_not_open() {
    let mut pair = Pair::new();
    pair.put(0, 50);
    pair.copy_files();
    let followed = pair.follow();
    pair.put(50, 60);
    pair.put(60, 70);
    pair.copy_files();
    let files = commit_files(&pair.path());
    let whole = fs::read(&files[1]).unwrap();
    let taken = |index: &Index| count(&index.snapshot().unwrap());
    // A file of the newest commit is missing, then truncated.
    fs::remove_file(&files[1]).unwrap();
    let error = followed.adopt().unwrap_err().to_string();
    assert!(error.contains(files[1].to_str().unwrap()), "{error}");
    fs::write(&files[1], &whole[..whole.len() / 2]).unwrap();
    let error = followed.adopt().unwrap_err().to_string();
    assert!(error.contains(files[1].to_str().unwrap()), "{error}");
    assert_eq!(taken(&followed), 50);
    fs::remove_file(&files[1]).unwrap();
    fs::write(&files[1], &whole).unwrap();
    followed.adopt().unwrap();
    assert_eq!(taken(&followed), 70);
}

#[test]
fn an_index_without_files_is_followed_once_they_exist() {
    let mut pair = Pair::new();
    let followed = pair.follow();
    assert!(followed.snapshot().is_err());
    assert!(followed.adopt().is_err());
    pair.put(0, 50);
    pair.copy_files();
    followed.adopt().unwrap();
    assert_eq!(count(&followed.snapshot().unwrap()), 50);
}
