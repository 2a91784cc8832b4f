//! Commits whose names can be neither synced nor removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::forgetful::{Forgetful, Luck};
use super::{Batches, commit, content, noise, try_commit};
use crate::indexing::layout;
use crate::store::{Committed, Disk, IndexDirectory};

/// A commit, and one after it that failed, with the uid of its batch.
struct Failed {
    disk: Forgetful,
    directory: IndexDirectory,
    before: Committed,
    uid: u64,
}

fn failed(batches: &mut Batches) -> Failed {
    let disk = Forgetful::default();
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    // Documents large enough for segment files of their own, and a second segment that the failed commit
    // merges into one.
    let many: Value = (0..160).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let mut operations = vec![batches.put(many)];
    operations.extend((0..7).map(|id| batches.put(json!([{ "id": id, "text": "small" }]))));
    let mut before = None;
    for operation in operations {
        before = Some(commit(&directory, before.as_ref(), &batches.batch(operation)));
    }
    let before = before.unwrap();
    disk.fail(true);
    let operation = batches.put(json!([{ "id": 500, "text": "refused" }]));
    let batch = batches.batch(operation);
    let refusal = try_commit(&directory, Some(&before), &batch).err().expect("names cannot be synced");
    assert_eq!(refusal.or_failed_disk().code(), "io_error");
    disk.fail(false);
    Failed { disk, directory, before, uid: batch["uid"].as_u64().unwrap() }
}

fn reopened(disk: Forgetful) -> Committed {
    IndexDirectory::open_disk(Arc::new(disk), layout()).unwrap().1.expect("there is a commit")
}

#[test]
fn a_failed_commit_is_taken_back_before_the_index_is_opened() {
    let bodies = tempfile::tempdir().unwrap();
    let Failed { disk, before, uid, .. } = failed(&mut Batches::new(bodies.path()));
    for luck in [Luck::None, Luck::Names, Luck::All] {
        let survivors = disk.crashes(luck).last().unwrap();
        let there = reopened(Forgetful::holding(survivors.clone()));
        // After a power failure, the names renamed last are lost, or they are not.
        assert_eq!(there.record.report["batchUid"] == uid, !matches!(luck, Luck::None), "{luck:?}");

        let disk = Forgetful::holding(survivors);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        IndexDirectory::undo_on(&shared, &BTreeSet::from([uid, uid + 9])).unwrap();
        for survivors in [Luck::None, Luck::All].map(|luck| disk.crashes(luck).last().unwrap()) {
            let found = reopened(Forgetful::holding(survivors));
            assert_eq!(found.record.report, before.record.report, "{luck:?}");
            assert_eq!(content(&found), content(&before), "{luck:?}");
        }
    }
}

#[test]
fn undo_does_not_take_a_later_commit_back() {
    let bodies = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(bodies.path());
    let Failed { disk, directory, before, uid } = failed(&mut batches);
    let operation = batches.put(json!([{ "id": 600, "text": "after" }]));
    let after = commit(&directory, Some(&before), &batches.batch(operation));
    let expected = content(&after);
    assert!(!expected.to_string().contains("refused"));
    drop((directory, before, after));
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    IndexDirectory::undo_on(&shared, &BTreeSet::from([uid])).unwrap();
    assert_eq!(content(&reopened(disk)), expected);
}

#[test]
fn a_commit_that_cannot_be_removed_is_not_told_as_taken_back() {
    let bodies = tempfile::tempdir().unwrap();
    let Failed { disk, uid, .. } = failed(&mut Batches::new(bodies.path()));
    disk.fail(true);
    let shared: Arc<dyn Disk> = Arc::new(disk);
    assert!(IndexDirectory::undo_on(&shared, &BTreeSet::from([uid])).is_err());
}

#[test]
fn a_merge_that_turns_up_though_it_failed_changes_no_document() {
    let bodies = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(bodies.path());
    let disk = Forgetful::default();
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    let documents =
        |from: u64| (from..from + 160).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let operation = batches.put(documents(0));
    let first = commit(&directory, None, &batches.batch(operation));
    let ids: Vec<String> = (0..100).map(|id| id.to_string()).collect();
    let operation = json!({ "kind": "deleteByIds", "ids": ids });
    let newest = commit(&directory, Some(&first), &batches.batch(operation));
    let merge = directory.merge(&newest, &Arc::default()).unwrap().expect("a third is deleted");
    disk.fail(true);
    assert!(directory.commit_merge(&newest, merge).is_err());
    disk.fail(false);
    let expected = content(&newest);
    for survivors in [Luck::None, Luck::All].map(|luck| disk.crashes(luck).last().unwrap()) {
        let found = reopened(Forgetful::holding(survivors));
        assert_eq!(found.record.report, newest.record.report);
        assert_eq!(content(&found), expected);
    }
}
