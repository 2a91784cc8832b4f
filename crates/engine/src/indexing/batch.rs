//! What is asked of a commit, and what became of it. Shapes: `Batch` and `BatchReport` in
//! `ts/engine/engine.ts`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::payload::Payload;
use crate::error::{Error, UserError};
use crate::vector::Remake;

/// Tasks carried out as one commit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// Unique per instance and growing.
    pub uid: u64,
    /// Only for messages.
    pub index_uid: String,
    /// In order.
    pub operations: Vec<Task>,
}

/// One task's part of a batch.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Which task.
    pub task_uid: u64,
    /// What it does.
    #[serde(flatten)]
    pub operation: Operation,
}

/// What a task does to an index.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Operation {
    /// Adds or changes documents.
    Documents {
        /// Whole documents or top-level fields.
        method: Method,
        /// Where they lie.
        payload: Payload,
        /// As the request named it.
        primary_key: Option<String>,
        /// Drops documents that are not in the index yet.
        skip_creation: bool,
        /// How many, as far as is known; only for progress.
        #[serde(default)]
        documents: u64,
    },
    /// Removes documents.
    DeleteByIds {
        /// Unknown ones remove nothing.
        ids: Vec<String>,
    },
    /// Removes documents.
    DeleteByFilter {
        /// As the request had it.
        filter: Value,
    },
    /// Replaces and removes documents, as a script has decided.
    Edit {
        /// Whole documents; None replaces none.
        payload: Option<Payload>,
        /// Ids to remove.
        deleted: Vec<String>,
        /// Documents the script was run over.
        edited_documents: u64,
    },
    /// Removes all documents.
    Clear,
    /// Replaces the settings.
    Settings {
        /// Complete, as JSON.
        settings: String,
        /// Embedders that have to look at their documents again.
        #[serde(default)]
        remakes: BTreeMap<String, Remake>,
    },
    /// Declares the primary key.
    PrimaryKey {
        /// None changes nothing.
        primary_key: Option<String>,
    },
}

impl Operation {
    /// Documents it has to look at, as far as is known beforehand.
    pub fn documents(&self) -> u64 {
        match self {
            Self::Documents { documents, .. } => *documents,
            Self::DeleteByIds { ids } => ids.len() as u64,
            Self::Edit { edited_documents, .. } => *edited_documents,
            Self::DeleteByFilter { .. } | Self::Clear | Self::Settings { .. } | Self::PrimaryKey { .. } => 0,
        }
    }
}

/// What happens to a document that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// It is swapped.
    Replace,
    /// Its top-level fields are overwritten one by one.
    Update,
}

/// What a commit did; kept inside the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchReport {
    /// Which batch.
    pub batch_uid: u64,
    /// Name of the index when the batch ran; None in commits of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_uid: Option<String>,
    /// In order of the operations.
    pub outcomes: Vec<Outcome>,
    /// None until known.
    pub primary_key: Option<String>,
    /// Documents in the index after the commit.
    pub documents: u64,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Which task.
    pub task_uid: u64,
    /// Distinct ids of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_documents: Option<u64>,
    /// Documents a script was run over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_documents: Option<u64>,
    /// Documents really removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_documents: Option<u64>,
    /// Whether the index counts as changed.
    pub touched: bool,
    /// Why it failed; then it left nothing behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// A user's mistake as it crosses boundaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Of the API's table.
    pub code: String,
    /// Shown as is.
    pub message: String,
}

impl From<&UserError> for Failure {
    fn from(error: &UserError) -> Self {
        Self { code: error.code.to_owned(), message: error.message.clone() }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self { code: error.code().to_owned(), message: error.to_string() }
    }
}
