//! Reads and creates the files of short-prefix lists, which are part of a segment like the files of tantivy.

use tantivy::directory::error::OpenReadError;
use tantivy::directory::{OwnedBytes, WritePtr};
use tantivy::index::SegmentComponent;
use tantivy::{Segment, SegmentReader};

use crate::error::{Context as _, Error, Result};

/// Reads the bytes of a segment file; `None` if the file is missing or empty.
pub(super) fn read_file(reader: &SegmentReader, extension: &str) -> Result<Option<OwnedBytes>> {
    let could_not = || format!("{extension} of a segment could not be read");
    let file = match reader.open_read(SegmentComponent::Custom(extension.to_owned())) {
        Ok(file) => file,
        Err(OpenReadError::FileDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(Error::internal(could_not(), error)),
    };
    let bytes = file.read_bytes().context(could_not())?;
    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
}

/// Creates a file of a segment.
pub(super) fn create(segment: &Segment, extension: &str) -> tantivy::Result<WritePtr> {
    Ok(segment.clone().open_write(SegmentComponent::Custom(extension.to_owned()))?)
}
