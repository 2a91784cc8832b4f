//! Failing disks: names can be neither synced nor removed. Files that cannot be removed are reported.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::simulated_disk::{CrashSurvival, SimulatedDisk};
use super::{Batches, commit, content, noise, try_commit};
use crate::background_fault::{BackgroundFaultKind, ReportedFaults};
use crate::indexing::layout;
use crate::store::{Committed, Disk, Effort, IndexDirectory};

/// A commit, and a failed one after it, with the uid of the batch of the failed one.
struct Failed {
    disk: SimulatedDisk,
    directory: IndexDirectory,
    before: Committed,
    uid: u64,
}

fn failed(batches: &mut Batches) -> Failed {
    let disk = SimulatedDisk::default();
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    // The documents are large enough for separate segment files. The failed commit merges a second segment with them.
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

fn reopened(disk: SimulatedDisk) -> Committed {
    IndexDirectory::open_disk(Arc::new(disk), layout()).unwrap().1.expect("there is a commit")
}

#[test]
fn a_failed_commit_is_taken_back_before_the_index_is_opened() {
    let bodies = tempfile::tempdir().unwrap();
    let Failed { disk, before, uid, .. } = failed(&mut Batches::new(bodies.path()));
    for survival in [CrashSurvival::None, CrashSurvival::Names, CrashSurvival::All] {
        let survivors = disk.crashes(survival).last().unwrap();
        let there = reopened(SimulatedDisk::holding(survivors.clone()));
        // A power failure may lose the names that were renamed last.
        assert_eq!(
            there.record.report["batchUid"] == uid,
            !matches!(survival, CrashSurvival::None),
            "{survival:?}"
        );

        let disk = SimulatedDisk::holding(survivors);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        IndexDirectory::undo_on(&shared, &BTreeSet::from([uid, uid + 9])).unwrap();
        for survivors in
            [CrashSurvival::None, CrashSurvival::All].map(|survival| disk.crashes(survival).last().unwrap())
        {
            let found = reopened(SimulatedDisk::holding(survivors));
            assert_eq!(found.record.report, before.record.report, "{survival:?}");
            assert_eq!(content(&found), content(&before), "{survival:?}");
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
fn a_commit_whose_file_cannot_be_opened_leaves_the_index_at_the_one_before() {
    let bodies = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(bodies.path());
    let disk = SimulatedDisk::default();
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    let operation = batches.put(json!([{ "id": 1, "text": "before" }]));
    let before = commit(&directory, None, &batches.batch(operation));
    let files = disk.list().unwrap();
    // The documents are large enough for separate segment files.
    let many = |from: u64| (from..from + 160).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let operation = batches.put(many(100));
    disk.hide_commits(true);
    assert!(try_commit(&directory, Some(&before), &batches.batch(operation)).is_err());
    disk.hide_commits(false);
    assert_eq!(disk.list().unwrap(), files);
    for survival in [CrashSurvival::None, CrashSurvival::All] {
        let found = reopened(SimulatedDisk::holding(disk.crashes(survival).last().unwrap()));
        assert_eq!(content(&found), content(&before), "{survival:?}");
    }
    let operation = batches.put(many(300));
    let after = commit(&directory, Some(&before), &batches.batch(operation));
    assert_eq!(after.snapshot.documents().len(), 161);
    assert_eq!(content(&reopened(disk)), content(&after));
}

#[test]
fn undo_fails_if_the_commit_cannot_be_removed() {
    let bodies = tempfile::tempdir().unwrap();
    let Failed { disk, uid, .. } = failed(&mut Batches::new(bodies.path()));
    disk.fail(true);
    let shared: Arc<dyn Disk> = Arc::new(disk);
    assert!(IndexDirectory::undo_on(&shared, &BTreeSet::from([uid])).is_err());
}

#[test]
fn a_failed_merge_that_survives_a_crash_changes_no_document() {
    let bodies = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(bodies.path());
    let disk = SimulatedDisk::default();
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    let documents =
        |from: u64| (from..from + 160).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let operation = batches.put(documents(0));
    let first = commit(&directory, None, &batches.batch(operation));
    let ids: Vec<String> = (0..100).map(|id| id.to_string()).collect();
    let operation = json!({ "kind": "deleteByIds", "ids": ids });
    let newest = commit(&directory, Some(&first), &batches.batch(operation));
    let merge = directory.merge(&newest, Effort::Any, &Arc::default()).unwrap().expect("a third is deleted");
    disk.fail(true);
    assert!(directory.commit_merge(&newest, merge).is_err());
    disk.fail(false);
    let expected = content(&newest);
    for survivors in
        [CrashSurvival::None, CrashSurvival::All].map(|survival| disk.crashes(survival).last().unwrap())
    {
        let found = reopened(SimulatedDisk::holding(survivors));
        assert_eq!(found.record.report, newest.record.report);
        assert_eq!(content(&found), expected);
    }
}

#[test]
fn a_failed_commit_that_cannot_be_removed_is_reported() {
    let bodies = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(bodies.path());
    let faults = ReportedFaults::default();
    let disk = SimulatedDisk::default().reporting(faults.reporter().of_index("things"));
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    let operation = batches.put(json!([{ "id": 1 }]));
    disk.fail(true);
    assert!(try_commit(&directory, None, &batches.batch(operation)).is_err());
    let [(name, _)] = &disk.list().unwrap()[..] else { panic!("the commit is not the only file") };
    let reported: Vec<_> = faults.take().into_iter().map(|fault| (fault.kind, fault.file)).collect();
    assert_eq!(reported, [(BackgroundFaultKind::FileRemoval, disk.path().join(name))]);
}

#[test]
fn files_of_a_replaced_commit_that_cannot_be_removed_are_reported_and_removed_later() {
    let bodies = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(bodies.path());
    let faults = ReportedFaults::default();
    let disk = SimulatedDisk::default().reporting(faults.reporter().of_index("things"));
    let (directory, _) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    let operation = batches.put((0..160).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect());
    let first = commit(&directory, None, &batches.batch(operation));
    let files = disk.list().unwrap();
    assert!(files.len() > 1, "{files:?}");
    let cleared = commit(&directory, Some(&first), &batches.batch(json!({ "kind": "clear" })));
    assert_eq!(faults.take(), [], "files that a reader has open are not removed yet");
    disk.fail(true);
    drop(first);
    let mut stayed: Vec<_> = faults.take().into_iter().map(|fault| (fault.kind, fault.file)).collect();
    stayed.sort_by_key(|(_, file)| file.clone());
    let expected = files.iter().map(|(name, _)| (BackgroundFaultKind::FileRemoval, disk.path().join(name)));
    assert_eq!(stayed, expected.collect::<Vec<_>>());

    drop((directory, cleared));
    let (directory, found) = IndexDirectory::open_disk(Arc::new(disk.clone()), layout()).unwrap();
    disk.fail(false);
    let operation = batches.put(json!([{ "id": 1 }]));
    drop(commit(&directory, found.as_ref(), &batches.batch(operation)));
    drop(found);
    assert_eq!(disk.list().unwrap().len(), 1);
    assert_eq!(faults.take(), []);
}

#[test]
fn a_leftover_of_a_crash_that_cannot_be_removed_is_reported_and_the_commit_succeeds() {
    let home = tempfile::tempdir().unwrap();
    let mut batches = Batches::new(home.path());
    let path = home.path().join("index");
    let left = path.join("segment-left.store");
    fs::create_dir(&path).unwrap();
    fs::write(&left, "").unwrap();
    let faults = ReportedFaults::default();
    let directory = IndexDirectory::create(&path, layout(), &faults.reporter().of_index("things")).unwrap();
    // Removing a directory like a file fails.
    fs::remove_file(&left).unwrap();
    fs::create_dir(&left).unwrap();
    let operation = batches.put(json!([{ "id": 1 }]));
    let committed = commit(&directory, None, &batches.batch(operation));
    assert_eq!(committed.snapshot.documents().len(), 1);
    let reported = faults.take();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!((reported[0].kind, &reported[0].file), (BackgroundFaultKind::FileRemoval, &left));
    assert_eq!(reported[0].index.as_deref(), Some("things"));
}
