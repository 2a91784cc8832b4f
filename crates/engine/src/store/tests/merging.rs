//! Merging segments changes no document.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Batches, commit, content, noise};
use crate::background_fault::FaultReporter;
use crate::indexing::{Batch, StagedBatch, WriteOptions, layout, write};
use crate::store::{Committed, Effort, IndexDirectory};

fn files_in(path: &std::path::Path) -> usize {
    std::fs::read_dir(path).unwrap().count()
}

#[test]
fn many_small_commits_leave_few_segments_and_files() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("index");
    let directory = IndexDirectory::create(&path, layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let mut newest: Option<Committed> = None;
    for number in 0..200u64 {
        // Half of the documents are new, half are changes.
        let documents = json!([{ "id": number % 100, "text": noise(number, 2), "number": number }]);
        let operation = batches.put(documents);
        newest = Some(commit(&directory, newest.as_ref(), &batches.batch(operation)));
        let committed = newest.as_ref().unwrap();
        assert!(committed.snapshot.segments().len() <= 16);
    }
    let committed = newest.unwrap();
    let expected: Vec<Value> = (0..100u64)
        .map(|id| json!([id, { "id": id, "text": noise(id + 100, 2), "number": id + 100 }]))
        .collect();
    assert_eq!(content(&committed)[0], json!(expected));
    assert!(files_in(&path) <= 20, "{}", files_in(&path));
    drop(committed);
    let (_, opened) = IndexDirectory::open(&path, layout(), &FaultReporter::default()).unwrap();
    assert_eq!(content(&opened.unwrap())[0], json!(expected));
}

#[test]
fn changes_made_during_a_merge_survive_it() {
    let home = tempfile::tempdir().unwrap();
    let directory =
        IndexDirectory::create(&home.path().join("index"), layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let mut newest: Option<Committed> = None;
    for part in 0..8u64 {
        let documents: Value =
            (0..100).map(|id| json!({ "id": part * 100 + id, "text": noise(id, 60) })).collect();
        let operation = batches.put(documents);
        newest = Some(commit(&directory, newest.as_ref(), &batches.batch(operation)));
    }
    let before = newest.unwrap();
    let old = content(&before);
    let merge = directory
        .merge(&before, Effort::Any, &Arc::default())
        .unwrap()
        .expect("eight segments of one level are merged");
    // Docid 5 is deleted and used again for another document while the merge runs.
    let gone = batches.batch(json!({ "kind": "deleteByIds", "ids": ["5", "700"] }));
    let after = commit(&directory, Some(&before), &gone);
    let operation = batches.put(json!([{ "id": 9000, "text": "five" }, { "id": 8, "text": "eight" }]));
    let after = commit(&directory, Some(&after), &batches.batch(operation));
    let expected = content(&after);
    let merged = directory.commit_merge(&after, merge).unwrap().expect("its segments are still there");
    assert_eq!(content(&merged), expected);
    assert_eq!(merged.snapshot.segments().len(), 2);
    assert_eq!(content(&before), old, "readers of the earlier commit still see it");
    assert!(directory.merge(&merged, Effort::Any, &Arc::default()).unwrap().is_none());
}

#[test]
fn a_merge_of_removed_segments_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("index");
    let directory = IndexDirectory::create(&path, layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let documents: Value = (0..300).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let operation = batches.put(documents);
    let full = commit(&directory, None, &batches.batch(operation));
    let ids: Vec<String> = (0..200).map(|id| id.to_string()).collect();
    let thin = commit(&directory, Some(&full), &batches.batch(json!({ "kind": "deleteByIds", "ids": ids })));
    let merge = directory.merge(&thin, Effort::Any, &Arc::default()).unwrap().expect("most of it is deleted");
    let cleared = commit(&directory, Some(&thin), &batches.batch(json!({ "kind": "clear" })));
    assert!(directory.commit_merge(&cleared, merge).unwrap().is_none());
    drop((full, thin));
    assert_eq!(files_in(&path), 1);
}

#[test]
fn a_merge_that_is_stopped_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("index");
    let directory = IndexDirectory::create(&path, layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let documents: Value = (0..400).map(|id| json!({ "id": id, "text": noise(id, 200) })).collect();
    let operation = batches.put(documents);
    let full = commit(&directory, None, &batches.batch(operation));
    let ids: Vec<String> = (0..200).map(|id| id.to_string()).collect();
    let thin = commit(&directory, Some(&full), &batches.batch(json!({ "kind": "deleteByIds", "ids": ids })));
    let files = files_in(&path);
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(true));
    assert!(directory.merge(&thin, Effort::Any, &stop).is_err());
    assert_eq!(files_in(&path), files);
}

#[test]
fn a_copy_holds_the_copied_commit() {
    let home = tempfile::tempdir().unwrap();
    let directory =
        IndexDirectory::create(&home.path().join("index"), layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let documents: Value = (0..300).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let operation = batches.put(documents);
    let first = commit(&directory, None, &batches.batch(operation));
    let expected = content(&first);
    commit(&directory, Some(&first), &batches.batch(json!({ "kind": "clear" })));
    let target = home.path().join("copy");
    directory.copy_to(&first, &target).unwrap();
    let (_, copy) = IndexDirectory::open(&target, layout(), &FaultReporter::default()).unwrap();
    assert_eq!(content(&copy.unwrap()), expected);
}

#[cfg(unix)]
#[test]
fn a_copy_on_the_same_file_system_shares_its_files() {
    use std::os::unix::fs::MetadataExt as _;
    let home = tempfile::tempdir().unwrap();
    let directory =
        IndexDirectory::create(&home.path().join("index"), layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let operation = batches.put((0..3_000).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect());
    let committed = commit(&directory, None, &batches.batch(operation));
    let target = home.path().join("copy");
    directory.copy_to(&committed, &target).unwrap();
    let links: Vec<u64> =
        std::fs::read_dir(&target).unwrap().map(|file| file.unwrap().metadata().unwrap().nlink()).collect();
    assert!(links.len() > 1 && links.iter().all(|&links| links == 2), "{links:?}");
    let (_, copy) = IndexDirectory::open(&target, layout(), &FaultReporter::default()).unwrap();
    assert_eq!(content(&copy.unwrap()), content(&committed));
}

#[test]
fn little_memory_makes_few_segments() {
    let home = tempfile::tempdir().unwrap();
    let directory =
        IndexDirectory::create(&home.path().join("index"), layout(), &FaultReporter::default()).unwrap();
    let mut batches = Batches::new(home.path());
    let operation = batches.put((0..3_000).map(|id| json!({ "id": id })).collect());
    let batch: Batch = serde_json::from_value(batches.batch(operation)).unwrap();
    let mut staged = StagedBatch::new(&batch, None, Default::default()).unwrap();
    staged.apply(batch).unwrap();
    let options = WriteOptions { threads: 8, memory_bytes: 0, spill: directory.spill(&Default::default()) };
    assert_eq!(write(&staged, &layout(), &options).unwrap().added.len(), 1);
}
