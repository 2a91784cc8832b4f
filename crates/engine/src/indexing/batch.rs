//! A batch of tasks, and the report of its commit. Shapes: `Batch` and `BatchReport` in `ts/engine/batches.ts`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::payload::Payload;
use crate::vector::Remake;

/// Tasks carried out as one commit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// Unique per instance; later batches have greater uids.
    pub uid: u64,
    /// The index's uid, for messages.
    pub index_uid: String,
    /// The tasks, in order.
    pub operations: Vec<Task>,
}

/// A task of a batch.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The task's uid.
    pub task_uid: u64,
    /// The operation that the task asks for.
    #[serde(flatten)]
    pub operation: Operation,
}

/// An operation of a task on an index.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Operation {
    /// Adds or changes documents.
    Documents {
        /// Method of the request: replace or update.
        method: Method,
        /// The body with the documents.
        payload: Payload,
        /// Primary key of the request.
        primary_key: Option<String>,
        /// True to ignore documents that are not in the index yet.
        skip_creation: bool,
        /// Number of documents if known, for progress.
        #[serde(default)]
        documents: u64,
    },
    /// Removes documents.
    DeleteByIds {
        /// Ids of the documents; unknown ids are ignored.
        ids: Vec<String>,
    },
    /// Removes documents.
    DeleteByFilter {
        /// The filter of the request.
        filter: Value,
    },
    /// Replaces and removes documents according to a script.
    Edit {
        /// New versions of documents; `None` if there are none.
        payload: Option<Payload>,
        /// Ids of the documents to remove.
        deleted: Vec<String>,
        /// The number of documents that the script ran over.
        edited_documents: u64,
    },
    /// Removes all documents.
    Clear,
    /// Replaces the settings.
    Settings {
        /// Complete settings, as JSON.
        settings: String,
        /// Embedders that have to make their vectors again.
        #[serde(default)]
        remakes: BTreeMap<String, Remake>,
        /// True to cut all documents into words again, even if no setting changes.
        #[serde(default)]
        reanalyses: bool,
    },
    /// Declares the primary key.
    PrimaryKey {
        /// The primary key; with `None`, nothing changes.
        primary_key: Option<String>,
    },
}

impl Operation {
    /// Returns the number of documents that the operation reads, if known in advance.
    pub fn documents(&self) -> u64 {
        match self {
            Self::Documents { documents, .. } => *documents,
            Self::DeleteByIds { ids } => ids.len() as u64,
            Self::Edit { edited_documents, .. } => *edited_documents,
            Self::DeleteByFilter { .. } | Self::Clear | Self::Settings { .. } | Self::PrimaryKey { .. } => 0,
        }
    }
}

/// Effect of a document on an existing one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// The new document replaces the old one.
    Replace,
    /// Top-level fields of the new document overwrite those of the old one.
    Update,
}

/// The report of a commit, which is stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchReport {
    /// The batch's uid.
    pub batch_uid: u64,
    /// Uid of the index when the batch ran; `None` in commits of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_uid: Option<String>,
    /// Outcomes in the order of the tasks.
    pub outcomes: Vec<Outcome>,
    /// Primary key after the commit; `None` until it is known.
    pub primary_key: Option<String>,
    /// The number of documents after the commit.
    pub documents: u64,
}

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The task's uid.
    pub task_uid: u64,
    /// The number of distinct ids in the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_documents: Option<u64>,
    /// The number of documents that a script ran over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_documents: Option<u64>,
    /// The number of documents removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_documents: Option<u64>,
    /// True if the index counts as changed.
    pub touched: bool,
    /// The error of a failed task, which changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// An error of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Error code of the API.
    pub code: String,
    /// Message for users.
    pub message: String,
}
