//! Writes and merges short-prefix lists with the segment, as a plugin of tantivy.

use std::any::Any;

use roaring::RoaringBitmap;
use tantivy::directory::TerminatingWrite as _;
use tantivy::indexer::DocIdMapping;
use tantivy::indexer::doc_id_mapping::MappingType;
use tantivy::plugin::{PluginMergeContext, PluginWriter, PluginWriterContext, SegmentPlugin};
use tantivy::schema::Schema;
use tantivy::schema::document::ErasedDocument;
use tantivy::{DocId, Segment, SegmentReader, TantivyError};

use super::files::create;
use super::forward::{self, ForwardLists};
use super::forward_writer::{DocumentEncoder, ForwardWriter};
use super::postings::{self, ShortPrefixPostings, ShortPrefixPostingsBuilder, Source, has_postings};
use crate::error::{Error, Result};
use crate::store::docids::read_docids;
use crate::store::document::WrittenDocument;

/// Writes and merges the two files of short-prefix lists of a segment.
pub struct ShortPrefixPlugin;

impl SegmentPlugin for ShortPrefixPlugin {
    fn extensions(&self) -> &[&str] {
        &[forward::EXTENSION, postings::EXTENSION]
    }

    fn create_writer(&self, _: &PluginWriterContext) -> tantivy::Result<Box<dyn PluginWriter>> {
        Ok(Box::new(ShortPrefixWriter::default()))
    }

    fn merge(&self, context: PluginMergeContext) -> tantivy::Result<()> {
        if context.doc_id_mapping.mapping_type() == MappingType::Shuffled {
            return Err(order_changed());
        }
        let mut forward_file = create(context.target_segment, forward::EXTENSION)?;
        let mut postings_file = create(context.target_segment, postings::EXTENSION)?;
        let sources: Result<Option<Vec<ForwardLists>>> =
            context.readers.iter().map(ForwardLists::open).collect();
        // If a segment was written by a version without short-prefix lists, the merged segment gets empty files, which
        // mean that it has none either.
        if let Some(sources) = sources.map_err(failed)? {
            let mut writer = ForwardWriter::default();
            for (reader, source) in context.readers.iter().zip(&sources) {
                let mut source = source.cursor();
                for doc in reader.doc_ids_alive() {
                    writer.add(source.written(doc).map_err(failed)?, &mut forward_file)?;
                }
            }
            writer.finish(&mut forward_file)?;
            if has_postings(context.readers.iter().map(SegmentReader::num_docs).sum()) {
                let sources = context.readers.iter().zip(&sources);
                let sources: Result<_> =
                    sources.map(|(reader, source)| postings_of(reader, source)).collect();
                postings::merge(sources.map_err(failed)?, &mut postings_file).map_err(failed)?;
            }
        }
        forward_file.terminate()?;
        Ok(postings_file.terminate()?)
    }
}

/// Returns the short-prefix postings of the live documents of a segment.
fn postings_of(reader: &SegmentReader, lists: &ForwardLists) -> Result<Source> {
    let docids = read_docids(reader)?;
    let set = |docids: &mut dyn Iterator<Item = u32>| docids.collect::<RoaringBitmap>();
    let live = set(&mut reader.doc_ids_alive().map(|doc| docids[doc as usize]));
    // If a docid was deleted in the segment and used again, the postings mix two documents. Then they are rebuilt from
    // the documents.
    let each_once = set(&mut docids.iter().copied()).len() == docids.len() as u64;
    if let Some(postings) = ShortPrefixPostings::open(reader)?.filter(|_| each_once) {
        return Ok(Source::Written { postings, live, next: 0 });
    }
    let (mut builder, mut cursor) = (ShortPrefixPostingsBuilder::default(), lists.cursor());
    for doc in reader.doc_ids_alive() {
        builder.add(docids[doc as usize], cursor.written(doc)?)?;
    }
    Ok(Source::collected(builder))
}

fn order_changed() -> TantivyError {
    TantivyError::InternalError("documents of a segment must not be reordered".to_owned())
}

fn failed(error: Error) -> TantivyError {
    TantivyError::InternalError(error.to_string())
}

/// Collects the first letters of a new segment.
#[derive(Default)]
struct ShortPrefixWriter {
    encoder: DocumentEncoder,
    /// Encoded documents, one after another.
    documents: Vec<u8>,
    docids: Vec<u32>,
}

impl PluginWriter for ShortPrefixWriter {
    fn add_document(&mut self, _: DocId, document: &dyn ErasedDocument, _: &Schema) -> tantivy::Result<()> {
        let Some(document) = document.as_any().downcast_ref::<WrittenDocument>() else {
            return Err(TantivyError::InternalError("a document is not a `WrittenDocument`".to_owned()));
        };
        self.encoder.write(document.text().word_codes(), &mut self.documents);
        self.docids.push(document.docid());
        Ok(())
    }

    fn serialize(self: Box<Self>, segment: &Segment, order: Option<&DocIdMapping>) -> tantivy::Result<()> {
        if order.is_some() {
            return Err(order_changed());
        }
        let mut forward_file = create(segment, forward::EXTENSION)?;
        let mut postings_file = create(segment, postings::EXTENSION)?;
        let (mut writer, mut builder) = (ForwardWriter::default(), ShortPrefixPostingsBuilder::default());
        let has_postings = has_postings(self.docids.len() as DocId);
        let mut rest = self.documents.as_slice();
        for &docid in &self.docids {
            let document = forward::next_written(&mut rest).map_err(failed)?;
            writer.add(document, &mut forward_file)?;
            if has_postings {
                builder.add(docid, document).map_err(failed)?;
            }
        }
        writer.finish(&mut forward_file)?;
        if has_postings {
            builder.write(&mut postings_file).map_err(failed)?;
        }
        forward_file.terminate()?;
        Ok(postings_file.terminate()?)
    }

    fn mem_usage(&self) -> usize {
        self.documents.capacity() + self.docids.capacity() * size_of::<u32>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
