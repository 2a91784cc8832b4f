//! The content of a commit: its segments, the documents deleted in them, and the outcome of its batch.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes in a file of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Name in the index's directory.
    pub file: String,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// CRC-32 of the bytes.
    pub checksum: u32,
}

/// A segment as a commit names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentEntry {
    /// 32 hexadecimal digits.
    pub id: String,
    /// Documents, deleted ones included.
    pub documents: u32,
    /// Its files by extension.
    #[serde(rename = "pieces")]
    pub files: BTreeMap<String, Blob>,
    /// A bitmap of segment docids in roaring's portable format; None: nothing is deleted.
    pub deleted: Option<Blob>,
}

impl SegmentEntry {
    /// A segment without any file on disk.
    pub fn new(id: String, documents: u32) -> Self {
        Self { id, documents, files: BTreeMap::new(), deleted: None }
    }
}

/// The data of a commit beside documents, fields and settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitRecord {
    /// Outcome of the batch, as `indexing` reports it.
    pub report: Value,
    /// The primary key; `None` until known.
    pub primary_key: Option<String>,
    /// Logs of vectors by embedder.
    #[serde(default)]
    pub vectors: BTreeMap<String, VectorLog>,
}

/// A log of vectors, up to the bytes that belong to the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorLog {
    /// Name of the file.
    pub file: String,
    /// Length of the log; bytes after it belong to no commit.
    pub bytes: u64,
    /// Number of the next record.
    pub sequence: u64,
}

/// The end of a commit's file, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The data of the commit beside documents, fields and settings.
    #[serde(flatten)]
    pub record: CommitRecord,
    /// Complete settings as JSON; None: never set.
    pub settings: Option<Blob>,
    /// Names of all fields in id order, a JSON array; None: there are none.
    pub fields: Option<Blob>,
    /// The segments, in their order.
    pub segments: Vec<SegmentEntry>,
}

impl Manifest {
    /// All blobs that the manifest refers to.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let of_segments =
            self.segments.iter().flat_map(|segment| segment.files.values().chain(&segment.deleted));
        of_segments.chain(&self.settings).chain(&self.fields)
    }

    /// Names of all files that the commit needs beside its own.
    pub fn file_names(&self) -> BTreeSet<&str> {
        self.blobs().map(|blob| blob.file.as_str()).collect()
    }
}
