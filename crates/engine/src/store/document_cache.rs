//! The text of documents that searches show repeatedly, decompressed.
//!
//! Most of the time of a short search goes into decompressing the blocks of its twenty hits. A segment never
//! changes, so cached texts never become wrong; deleted documents are not asked for.

use std::sync::{Arc, LazyLock};

use tantivy::DocId;
use tantivy::index::SegmentId;

use crate::error::Result;
use crate::generation_cache::GenerationCache;

/// One cache for the process, whose bound holds for all indexes together.
static TEXTS: LazyLock<GenerationCache<(SegmentId, DocId), str>> = LazyLock::new(GenerationCache::default);

/// The text of a document, from the cache or from `read`.
///
/// # Errors
/// As `read`; nothing is cached then.
pub(super) fn text(
    segment: SegmentId,
    doc: DocId,
    read: impl FnOnce() -> Result<Arc<str>>,
) -> Result<Arc<str>> {
    let key = (segment, doc);
    if let Some(text) = TEXTS.get(&key) {
        return Ok(text);
    }
    let text = read()?;
    TEXTS.insert(key, Arc::clone(&text), text.len(), BYTES_MAX);
    Ok(text)
}

/// Bytes of one generation; there are two.
const BYTES_MAX: usize = 16 << 20;
