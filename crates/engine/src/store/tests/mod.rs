//! 1. After a crash at any moment, an index opens with a complete commit: the last acknowledged one, or the one in
//!    progress. A failed commit is never shown, even if parts of it reached the disk.
//! 2. A damaged file is reported by name, whatever the damage.
//! 3. Merges and concurrent readers change neither the content of the index nor search results.

mod crash;
mod damage;
mod failing;
mod layouts;
mod merging;
mod short_prefixes;
mod simulated_disk;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::Result;
use crate::indexing::{Batch, StagedBatch, WriteOptions, layout, write};
use crate::store::{CommitRecord, Committed, IndexDirectory};

/// Makes words that hardly compress: a few documents fill a separate segment file.
fn noise(seed: u64, words: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:x}")
    };
    (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
}

/// Builds operations as the caller of the engine sends them, with their bodies in a directory.
struct Batches {
    directory: PathBuf,
    bodies: u64,
    next: u64,
}

impl Batches {
    fn new(bodies: &Path) -> Self {
        Self { directory: bodies.to_owned(), bodies: 0, next: 1 }
    }

    fn put(&mut self, documents: Value) -> Value {
        self.bodies += 1;
        let path = self.directory.join(format!("body-{}", self.bodies));
        std::fs::write(&path, documents.to_string()).unwrap();
        json!({ "kind": "documents", "method": "replace", "primaryKey": "id", "skipCreation": false,
                "payload": { "path": path, "format": "json" } })
    }

    fn batch(&mut self, mut operation: Value) -> Value {
        operation["taskUid"] = json!(self.next);
        self.next += 1;
        json!({ "uid": self.next - 1, "indexUid": "things", "operations": [operation] })
    }
}

/// Makes a commit as `Index` does, on any disk.
fn commit(directory: &IndexDirectory, previous: Option<&Committed>, batch: &Value) -> Committed {
    try_commit(directory, previous, batch).unwrap()
}

/// As [`commit`], on a disk that may fail.
fn try_commit(directory: &IndexDirectory, previous: Option<&Committed>, batch: &Value) -> Result<Committed> {
    let batch: Batch = serde_json::from_value(batch.clone()).unwrap();
    let mut staged =
        StagedBatch::new(&batch, previous.map(|previous| previous.snapshot.clone()), Default::default())
            .unwrap();
    staged.apply(batch).unwrap();
    let spill = directory.spill(&std::sync::Arc::default());
    let options = WriteOptions { threads: 1, memory_bytes: 50_000_000, spill };
    let change = write(&staged, &layout(), &options).unwrap();
    let parts = staged.parts();
    let record = CommitRecord {
        report: json!({ "batchUid": staged.batch_uid }),
        primary_key: parts.primary_key.clone(),
        vectors: Default::default(),
        analysis: None,
        dictionaries: Default::default(),
    };
    directory.commit(previous, change, parts, record)
}

/// Returns properties that distinguish commits, without reading documents.
fn outline(committed: &Committed) -> Value {
    let documents: Vec<u32> = committed.snapshot.documents().iter().collect();
    json!([committed.record.report, committed.snapshot.segments().len(), documents])
}

/// Returns everything that a reader can see of the documents and settings of a commit.
fn content(committed: &Committed) -> Value {
    let snapshot = &committed.snapshot;
    let document = |docid| json!([docid, snapshot.document(docid).unwrap().unwrap()]);
    let documents: Vec<Value> = snapshot.documents().iter().map(document).collect();
    let found = |document: &Value| {
        let id = document[1]["id"].to_string();
        snapshot.docid_of(&id).unwrap().map(Value::from) == Some(document[0].clone())
    };
    assert!(documents.iter().all(found), "every document is found by its id");
    json!([documents, snapshot.settings().raw, snapshot.fields().names().collect::<Vec<_>>()])
}
