//! Additions, updates, deletions, settings and merges, with a crash after each write, rename and sync.

use std::sync::Arc;

use serde_json::{Value, json};

use super::simulated_disk::{CrashSurvival, SimulatedDisk};
use super::{Batches, commit, content, noise, outline};
use crate::indexing::layout;
use crate::store::{Committed, Effort, IndexDirectory};

/// A commit, acknowledged after `steps` operations of the disk.
struct Promise {
    steps: usize,
    outline: Value,
    content: Value,
}

impl Promise {
    fn new(disk: &SimulatedDisk, committed: &Committed) -> Self {
        Self { steps: disk.steps(), outline: outline(committed), content: content(committed) }
    }
}

/// Runs a workload with separate segment files, small commits, small merges and a large merge.
fn workload(disk: &SimulatedDisk, bodies: &std::path::Path) -> Vec<Promise> {
    let (directory, none) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    assert!(none.is_none());
    let mut batches = Batches::new(bodies);
    let (mut newest, mut promises) = (None, Vec::new());
    let documents = |range: std::ops::Range<u64>, words: usize| -> Value {
        range.map(|id| json!({ "id": id, "text": noise(id, words) })).collect()
    };
    let mut operations = vec![batches.put(documents(0..160, 150))];
    for id in 155..165 {
        operations.push(batches.put(documents(id..id + 1, 3)));
    }
    let settings = json!({ "filterableAttributes": ["text"], "stopWords": [] });
    operations.push(json!({ "kind": "settings", "settings": settings.to_string() }));
    let ids: Vec<String> = (0..100).map(|id| id.to_string()).collect();
    operations.push(json!({ "kind": "deleteByIds", "ids": ids }));
    for operation in operations {
        let batch = batches.batch(operation);
        let committed = commit(&directory, newest.as_ref(), &batch);
        promises.push(Promise::new(disk, &committed));
        newest = Some(committed);
    }
    let mut committed = newest.unwrap();
    let merge =
        directory.merge(&committed, Effort::Any, &Arc::default()).unwrap().expect("a third is deleted");
    let batch = batches.batch(json!({ "kind": "deleteByIds", "ids": ["150", "164"] }));
    committed = commit(&directory, Some(&committed), &batch);
    promises.push(Promise::new(disk, &committed));
    committed = directory.commit_merge(&committed, merge).unwrap().expect("its segments are still there");
    promises.push(Promise::new(disk, &committed));
    committed = commit(&directory, Some(&committed), &batches.batch(json!({ "kind": "clear" })));
    promises.push(Promise::new(disk, &committed));
    promises
}

#[test]
fn after_a_crash_at_any_moment_a_complete_commit_opens() {
    let bodies = tempfile::tempdir().unwrap();
    let disk = SimulatedDisk::default();
    let promises = workload(&disk, bodies.path());
    assert!(promises.len() > 12);
    for survival in [CrashSurvival::None, CrashSurvival::Names, CrashSurvival::Half, CrashSurvival::All] {
        let mut last = Value::Null;
        for (steps, survivors) in disk.crashes(survival).enumerate() {
            let survivor = Arc::new(SimulatedDisk::holding(survivors));
            let (_, found) = IndexDirectory::open_disk(survivor, layout())
                .unwrap_or_else(|error| panic!("{survival:?} after {steps} steps: {error}"));
            let count = promises.iter().take_while(|promise| promise.steps <= steps).count();
            let acknowledged = count.checked_sub(1).map(|last| &promises[last]);
            let Some(found) = found else {
                assert!(acknowledged.is_none(), "{survival:?} after {steps} steps: nothing is left");
                continue;
            };
            let allowed = [acknowledged, promises.get(count)].into_iter().flatten();
            let seen = outline(&found);
            let Some(promise) = allowed.into_iter().find(|promise| promise.outline == seen) else {
                panic!("{survival:?} after {steps} steps, {count} commits acknowledged: {seen}");
            };
            // Reading all documents takes time. So it is done for the first survivor of each commit and for a sample of
            // the others.
            if !std::mem::replace(&mut last, seen.clone()).eq(&seen) || steps % 16 == 0 {
                assert_eq!(content(&found), promise.content, "{survival:?} after {steps} steps");
            }
        }
    }
}

#[test]
fn files_left_by_a_crash_are_removed_and_writing_continues() {
    let bodies = tempfile::tempdir().unwrap();
    let disk = SimulatedDisk::default();
    workload(&disk, bodies.path());
    for (steps, survivors) in disk.crashes(CrashSurvival::All).enumerate().step_by(7) {
        let survivor = SimulatedDisk::holding(survivors);
        let (directory, found) = IndexDirectory::open_disk(Arc::new(survivor.clone()), layout()).unwrap();
        let mut batches = Batches::new(bodies.path());
        let operation = batches.put(json!([{ "id": 7, "text": "after" }]));
        let cleared = commit(&directory, found.as_ref(), &batches.batch(json!({ "kind": "clear" })));
        let committed = commit(&directory, Some(&cleared), &batches.batch(operation));
        drop((cleared, found));
        assert_eq!(content(&committed)[0], json!([[0, { "id": 7, "text": "after" }]]), "after {steps} steps");
        let files = crate::store::Disk::list(&survivor).unwrap();
        assert_eq!(files.len(), 1, "after {steps} steps: {files:?}");
    }
}
