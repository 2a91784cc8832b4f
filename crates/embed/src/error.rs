//! Why there is no model, or no vector.

use std::path::Path;

/// Why a model cannot be loaded, or makes no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A file of the model is missing, damaged, or of a kind that is not run here.
    #[error("`{file}` of the model cannot be used: {reason}")]
    Model {
        /// The file's name inside the model's folder.
        file: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The caller asked to stop.
    #[error("the embedding was stopped")]
    Stopped,
}

impl Failure {
    /// A failure that the file `path` is the cause of.
    pub(crate) fn of(path: &Path, reason: impl ToString) -> Self {
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::Model { file, reason: reason.to_string() }
    }

    /// A failure of computing with weights that had the right shapes.
    pub(crate) fn of_weights(reason: impl ToString) -> Self {
        Self::Model { file: crate::WEIGHTS.to_owned(), reason: reason.to_string() }
    }
}

/// A value, or why there is none.
pub type Result<T> = std::result::Result<T, Failure>;
