//! Whose fault is it, and what to tell them.

use std::any::Any;
use std::error::Error as StdError;
use std::path::Path;

/// A write that failed with less room than this on its disk failed for want of it: tantivy writes through
/// buffers of 8 KiB and maps nothing smaller than a page.
const ROOM_BYTES_MIN: u64 = 1 << 20;

/// Number of the system's error for a device that does not read or write, on every Unix.
const OS_ERROR_IO: i32 = 5;

/// Any error of another library.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Result of anything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the engine could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller can fix it; shown as is.
    #[error(transparent)]
    User(#[from] UserError),
    /// Our bug or a bad disk; logged in full, shown as `internal`.
    #[error("{context}: {source}")]
    Internal {
        /// What the engine was doing, and to which file if one is to blame.
        context: String,
        /// What went wrong underneath.
        source: BoxError,
    },
}

/// A mistake of the caller: a code of the API's error table, and a message naming the offending value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{message}")]
pub struct UserError {
    /// A key of the table in `ts/errors/codes.ts`.
    pub code: &'static str,
    /// Shown as is.
    pub message: String,
}

impl Error {
    /// The caller's mistake.
    pub fn user(code: &'static str, message: impl Into<String>) -> Self {
        Self::User(UserError { code, message: message.into() })
    }

    /// A fault of ours or of the machine.
    pub fn internal(context: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Internal { context: context.into(), source: source.into() }
    }

    /// The same error, unless it came of a disk without room: then one that says so.
    ///
    /// Not every reason comes through, so that beside one that names it, a disk with next to no room left
    /// counts too. `path` lies on that disk.
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

    /// The same error, unless a disk that failed to read or write is the reason: then one that says so.
    pub fn or_failed_disk(self) -> Self {
        let Self::Internal { source, .. } = &self else { return self };
        if io_errors_of(&**source).any(|io| cfg!(unix) && io.raw_os_error() == Some(OS_ERROR_IO)) {
            return Self::user("io_error", format!("the disk failed and may be damaged: {self}"));
        }
        self
    }

    /// The same error, unless files are the reason that do not decode or are gone: then one that says so. What the
    /// system refused, such as one file more, says nothing about them.
    pub fn or_damaged(self) -> Self {
        let Self::Internal { source, .. } = &self else { return self };
        let is_refusal =
            |io: &std::io::Error| io.raw_os_error().is_some() && io.kind() != std::io::ErrorKind::NotFound;
        if io_errors_of(&**source).any(is_refusal) {
            return self;
        }
        Self::user("index_damaged", self.to_string())
    }

    /// The code of the API's table this error shows as.
    pub fn code(&self) -> &'static str {
        match self {
            Self::User(error) => error.code,
            Self::Internal { .. } => "internal",
        }
    }
}

/// The message of a caught panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// The errors of the system among an error and all its reasons.
fn io_errors_of<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e std::io::Error> {
    std::iter::successors(Some(error), |&cause| reason_of(cause)).filter_map(io_error_of)
}

/// An I/O error that wraps another error gives that one's reason as its own.
fn reason_of<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    match io_error_of(cause).and_then(std::io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}

/// tantivy does not give the errors it wraps as their source.
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

/// Says what was being done when another library failed.
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
