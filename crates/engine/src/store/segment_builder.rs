//! Builds a segment that is not part of any commit yet.

use tantivy::Segment;
use tantivy::indexer::{AddOperation, SegmentWriter};
use tantivy::schema::document::Document;

use super::layout::Layout;
use super::segment_files::{SegmentFiles, Spill};
use crate::error::Result;

/// Collects documents for one segment.
pub struct SegmentBuilder {
    layout: Layout,
    files: SegmentFiles,
    segment: Segment,
    writer: SegmentWriter,
}

/// A segment that no commit names yet. Dropping it removes its files.
pub struct NewSegment {
    pub(super) layout: Layout,
    pub(super) id: String,
    pub(super) documents: u32,
    pub(super) files: SegmentFiles,
}

impl SegmentBuilder {
    /// Creates a builder that may use `memory_bytes`. `spill` takes large files; with `None`, they stay in memory.
    pub fn new(layout: &Layout, spill: Option<Spill>, memory_bytes: usize) -> Result<Self> {
        let files = SegmentFiles::new(spill);
        let segment = layout.index(files.clone())?.new_segment();
        let writer = SegmentWriter::for_segment(memory_bytes.max(BUILDER_BYTES_MIN), segment.clone())?;
        Ok(Self { layout: layout.clone(), files, segment, writer })
    }

    /// Adds a document. If docids ascend, looking one up later needs no table.
    pub fn add<D: Document>(&mut self, document: D) -> Result<()> {
        Ok(self.writer.add_document(AddOperation { opstamp: 0, document })?)
    }

    /// Returns the bytes in use.
    pub fn memory_bytes(&self) -> usize {
        self.writer.mem_usage()
    }

    /// Finishes the segment; `None` if it has no documents.
    pub fn finish(self) -> Result<Option<NewSegment>> {
        let documents = self.writer.max_doc();
        if documents == 0 {
            return Ok(None);
        }
        self.writer.finalize()?;
        let id = self.segment.id().uuid_string();
        Ok(Some(NewSegment { layout: self.layout, id, documents, files: self.files }))
    }
}

/// Least memory of tantivy's writer, in bytes.
const BUILDER_BYTES_MIN: usize = 1 << 20;
