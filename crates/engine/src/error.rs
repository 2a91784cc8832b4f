//! Errors of the engine: mistakes of the caller and internal failures.

use std::any::Any;
use std::error::Error as StdError;
use std::path::Path;

/// If a write fails with less free space than this, the disk counts as full: tantivy writes through buffers of 8 KiB
/// and maps nothing smaller than a page.
const ROOM_BYTES_MIN: u64 = 1 << 20;

/// `EIO`, the system's error for a device that cannot be read or written, on every Unix.
const OS_ERROR_IO: i32 = 5;

/// Any error of another library.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Result of the functions of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the engine could not carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller can fix it; shown unchanged.
    #[error(transparent)]
    User(#[from] UserError),
    /// A bug or a failing disk; logged in full, shown as `internal`.
    #[error("{context}: {source}")]
    Internal {
        /// The operation that failed, and its file, if any.
        context: String,
        /// The underlying error.
        source: BoxError,
    },
}

/// A mistake of the caller: a code of the API's error table, and a message with the offending value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{message}")]
pub struct UserError {
    /// A key of the table in `ts/errors/codes.ts`.
    pub code: &'static str,
    /// Shown unchanged.
    pub message: String,
}

impl Error {
    /// An error for a mistake of the caller.
    pub fn user(code: &'static str, message: impl Into<String>) -> Self {
        Self::User(UserError { code, message: message.into() })
    }

    /// An error for a bug or a failure of the machine.
    pub fn internal(context: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Internal { context: context.into(), source: source.into() }
    }

    /// Turns an error caused by a full disk into `no_space_left_on_device`; returns others unchanged.
    ///
    /// Some errors do not name their cause, so a disk with hardly any free space counts too. `path` is on that disk.
    pub fn or_full_disk(self, path: &Path) -> Self {
        let Self::Internal { source, .. } = &self else { return self };
        let named = io_errors_of(&**source).any(|io| io.kind() == std::io::ErrorKind::StorageFull);
        if named || fs4::available_space(path).is_ok_and(|bytes| bytes < ROOM_BYTES_MIN) {
            return Self::user(
                "no_space_left_on_device",
                format!("there is no space left on the disk: {self}"),
            );
        }
        self
    }

    /// Turns an error caused by a failing disk into `io_error`; returns others unchanged.
    pub fn or_failed_disk(self) -> Self {
        let Self::Internal { source, .. } = &self else { return self };
        if io_errors_of(&**source).any(|io| cfg!(unix) && io.raw_os_error() == Some(OS_ERROR_IO)) {
            return Self::user("io_error", format!("the disk failed and may be damaged: {self}"));
        }
        self
    }

    /// Turns an internal error into `index_damaged`: files are missing or cannot be decoded. Errors are returned
    /// unchanged if the system refused an operation, such as opening another file, since the files may be fine.
    pub fn or_damaged(self) -> Self {
        let Self::Internal { source, .. } = &self else { return self };
        let is_refusal =
            |io: &std::io::Error| io.raw_os_error().is_some() && io.kind() != std::io::ErrorKind::NotFound;
        if io_errors_of(&**source).any(is_refusal) {
            return self;
        }
        Self::user("index_damaged", self.to_string())
    }

    /// Names the index in a mistake with `code`, found by a function that does not know the index; returns other errors
    /// unchanged.
    pub fn naming_index(self, code: &str, index_uid: &str) -> Self {
        match self {
            Self::User(UserError { code: found, message }) if found == code => {
                Self::user(found, format!("Index `{index_uid}`: {message}"))
            }
            other => other,
        }
    }

    /// Returns the code of the API's table for this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::User(error) => error.code,
            Self::Internal { .. } => "internal",
        }
    }
}

/// Returns the message of a caught panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// Returns all I/O errors in the chain of causes.
fn io_errors_of<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e std::io::Error> {
    std::iter::successors(Some(error), |&cause| reason_of(cause)).filter_map(io_error_of)
}

/// The `source` of an I/O error skips the error that it wraps, so the wrapped error is taken first.
fn reason_of<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    match io_error_of(cause).and_then(std::io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}

/// tantivy does not return wrapped errors as `source`.
fn io_error_of<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e std::io::Error> {
    use tantivy::TantivyError;
    use tantivy::directory::error::{OpenReadError, OpenWriteError};
    if let Some(OpenReadError::IoError { io_error, .. }) = cause.downcast_ref() {
        return Some(&**io_error);
    }
    match cause.downcast_ref::<TantivyError>() {
        Some(TantivyError::IoError(io)) => Some(&**io),
        Some(TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })) => Some(&**io_error),
        Some(TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })) => Some(&**io_error),
        _ => cause.downcast_ref::<std::io::Error>(),
    }
}

/// Adds the current operation to errors of other libraries.
pub trait Context<T> {
    /// Wraps the error as [`Error::Internal`].
    fn context(self, context: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<BoxError>> Context<T> for std::result::Result<T, E> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.map_err(|source| Error::internal(context, source))
    }
}

impl From<tantivy::TantivyError> for Error {
    fn from(source: tantivy::TantivyError) -> Self {
        Self::internal("the index could not be read or written", source)
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Self::internal("a file could not be read or written", source)
    }
}
