//! Damaged files: truncated, or with a flipped bit.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Batches, noise};
use crate::{Index, Limits};

const LIMITS: Limits =
    Limits { indexing_memory_bytes: 200_000_000, indexing_threads: 1, cache_bytes: 32 << 20 };

fn apply(index: &Index, batch: &Value) {
    let ticket = index.prepare(batch.to_string().as_bytes(), None).unwrap();
    index.commit(ticket).unwrap();
}

/// Creates an index with every kind of file: separate segment files, segments inside a commit file, deletions,
/// settings.
fn index_in(path: &Path) -> Index {
    let mut batches = Batches::new(path);
    let index = Index::open(&path.join("index"), LIMITS).unwrap();
    let many: Value = (0..300).map(|id| json!({ "id": id, "text": noise(id, 150) })).collect();
    let operations = [
        batches.put(many),
        json!({ "kind": "settings", "settings": json!({ "sortableAttributes": ["text"] }).to_string() }),
        json!({ "kind": "deleteByIds", "ids": ["1", "299"] }),
    ];
    for operation in operations {
        apply(&index, &batches.batch(operation));
    }
    let one = batches.put(json!([{ "id": 1000, "text": "small" }]));
    apply(&index, &batches.batch(one));
    assert_eq!(index.verify().unwrap(), []);
    index
}

/// Lists files without deferred columns: these are copies from stored documents, and damaged ones are rewritten.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path.join("index")).unwrap().map(|entry| entry.unwrap());
    let own = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with("late-"));
    let mut files: Vec<PathBuf> = own.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Asserts that either the error of opening the index or `verify` names the damaged file.
fn assert_blamed(path: &Path, file: &Path, what: &str) {
    let name = file.display().to_string();
    match Index::open(&path.join("index"), LIMITS) {
        Err(error) => assert!(error.to_string().contains(&name), "{what} of {name}: {error}"),
        Ok(index) => {
            let damages = index.verify().unwrap();
            assert!(damages.iter().any(|damage| damage.path == name), "{what} of {name}: {damages:?}");
        }
    }
}

#[test]
fn a_flipped_bit_is_found_at_any_offset() {
    let directory = tempfile::tempdir().unwrap();
    drop(index_in(directory.path()));
    let files = files_of(directory.path());
    let extensions = files.iter().filter_map(|file| file.extension()?.to_str());
    let extensions: std::collections::BTreeSet<&str> = extensions.collect();
    assert!(extensions.len() >= 2, "parts got files of their own: {extensions:?}");
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        let last = whole.len() - 1;
        for at in [0, 9, last / 3, last / 2, last - 40, last - 20, last - 6, last] {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&file, &bytes).unwrap();
            assert_blamed(directory.path(), &file, &format!("bit {at}"));
        }
        std::fs::write(&file, &whole).unwrap();
    }
    assert_eq!(Index::open(&directory.path().join("index"), LIMITS).unwrap().verify().unwrap(), []);
}

#[test]
fn a_truncated_file_is_found() {
    let directory = tempfile::tempdir().unwrap();
    drop(index_in(directory.path()));
    for file in files_of(directory.path()) {
        let whole = std::fs::read(&file).unwrap();
        for length in [0, 5, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&file, &whole[..length]).unwrap();
            assert_blamed(directory.path(), &file, &format!("only {length} bytes"));
        }
        std::fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn another_format_is_refused_with_path_and_versions() {
    let directory = tempfile::tempdir().unwrap();
    drop(index_in(directory.path()));
    let newest = files_of(directory.path()).into_iter().rfind(|file| file.extension().is_none()).unwrap();
    let mut bytes = std::fs::read(&newest).unwrap();
    bytes[8..12].copy_from_slice(&99u32.to_le_bytes());
    // Every format begins with these twelve bytes.
    bytes.truncate(60);
    std::fs::write(&newest, bytes).unwrap();
    let error =
        Index::open(&directory.path().join("index"), LIMITS).err().expect("it is refused").to_string();
    for part in [&*newest.display().to_string(), "format 99", "reads formats up to 2"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_listed_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index");
    assert!(Index::open(&path, LIMITS).is_ok(), "an index need not exist yet");
    // A file cannot be listed by any user, while root can list a directory without permissions.
    std::fs::write(&path, "").unwrap();
    let error = Index::open(&path, LIMITS).err().expect("it is refused").or_damaged();
    assert_eq!(error.code(), "internal");
    assert!(error.to_string().starts_with(&format!("{} could not be listed", path.display())), "{error}");
}

#[test]
fn a_newest_commit_of_another_index_removes_no_file_when_it_is_opened() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(index_in(directory.path()));
    {
        let index = Index::open(&other.path().join("index"), LIMITS).unwrap();
        let mut batches = Batches::new(other.path());
        // Enough commits for the last one to have the highest number of both directories.
        for _ in 0..9 {
            let one = batches.put(json!([{ "id": 1, "text": "whole in one file" }]));
            apply(&index, &batches.batch(one));
        }
    }
    let files = files_of(directory.path());
    let commits = |files: &[PathBuf]| -> Vec<PathBuf> {
        let is_commit = |file: &&PathBuf| file.file_name().unwrap().to_str().unwrap().starts_with("commit-");
        files.iter().filter(is_commit).cloned().collect()
    };
    let newest = commits(&files).pop().unwrap();
    assert!(files.len() > 1);
    let foreign = commits(&files_of(other.path())).pop().unwrap();
    for name in [newest.clone(), newest.with_file_name(foreign.file_name().unwrap())] {
        std::fs::copy(&foreign, &name).unwrap();
        drop(Index::open(&directory.path().join("index"), LIMITS));
        assert!(files.iter().all(|file| file.exists()), "{}", name.display());
    }
}
