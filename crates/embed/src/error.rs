//! Errors of loading models and computing vectors.

use std::path::Path;

/// Why a model cannot be loaded or returns no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A file of the model is missing, damaged or not supported.
    #[error("`{file}` of the model cannot be used: {reason}")]
    Model {
        /// Name of the file in the model's folder.
        file: String,
        /// The problem, and how to solve it.
        reason: String,
    },
    /// The caller asked to stop.
    #[error("the call was stopped")]
    Stopped,
}

impl Failure {
    /// A failure caused by the file `path`.
    pub(crate) fn of(path: &Path, reason: impl ToString) -> Self {
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::Model { file, reason: reason.to_string() }
    }

    /// A failure while computing with weights of the right shapes.
    pub(crate) fn of_weights(reason: impl ToString) -> Self {
        Self::Model { file: crate::files::WEIGHTS.to_owned(), reason: reason.to_string() }
    }

    /// A failure of weights that are too large to compute with.
    pub(crate) fn not_finite() -> Self {
        Self::of_weights("its weights make numbers that are not finite")
    }
}

/// Result of the functions of this crate.
pub type Result<T> = std::result::Result<T, Failure>;
