//! The content of a commit: its segments, the documents deleted in them, and the outcome of its batch.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::analysis::DictionaryIds;

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

/// The entry of a segment in a commit.
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
    /// A bitmap of the deleted segment docids in the portable format of roaring. `None` if no document is deleted.
    pub deleted: Option<Blob>,
}

impl SegmentEntry {
    /// Creates the entry of a segment without files on disk.
    pub fn new(id: String, documents: u32) -> Self {
        Self { id, documents, files: BTreeMap::new(), deleted: None }
    }
}

/// Data of a commit other than documents, fields and settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitRecord {
    /// Outcome of the batch, as `indexing` reports it.
    pub report: Value,
    /// The primary key; `None` until known.
    pub primary_key: Option<String>,
    /// Vector logs by embedder.
    #[serde(default)]
    pub vectors: BTreeMap<String, VectorLog>,
    /// Versions of what cut the documents into words, by component; `None` in commits of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<BTreeMap<String, String>>,
    /// Ids of the dictionaries that cut the texts, by language.
    #[serde(default, skip_serializing_if = "DictionaryIds::is_empty")]
    pub dictionaries: DictionaryIds,
}

/// A vector log, up to the bytes that belong to the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorLog {
    /// Name of the file.
    pub file: String,
    /// Length of the log in bytes. Bytes after it belong to no commit.
    pub bytes: u64,
    /// Number of the next record.
    pub sequence: u64,
}

/// The JSON at the end of a commit file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Data of the commit other than documents, fields and settings.
    #[serde(flatten)]
    pub record: CommitRecord,
    /// Complete settings as JSON; `None` if never set.
    pub settings: Option<Blob>,
    /// Names of all fields in the order of their ids, as a JSON array; `None` if there are none.
    pub fields: Option<Blob>,
    /// The segments, in order.
    pub segments: Vec<SegmentEntry>,
}

impl Manifest {
    /// Returns all blobs that the manifest refers to.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let of_segments =
            self.segments.iter().flat_map(|segment| segment.files.values().chain(&segment.deleted));
        of_segments.chain(&self.settings).chain(&self.fields)
    }

    /// Returns the names of all files that the commit needs, except the commit file.
    pub fn file_names(&self) -> BTreeSet<&str> {
        self.blobs().map(|blob| blob.file.as_str()).collect()
    }
}
