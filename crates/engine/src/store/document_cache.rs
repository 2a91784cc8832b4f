//! Which documents do searches show again and again? Their text, kept decompressed.
//!
//! Most of what a short search costs is decompressing the blocks of its twenty hits. A segment never changes,
//! so what is kept never becomes wrong; documents deleted since are not asked for.

use std::sync::{Arc, LazyLock};

use tantivy::DocId;
use tantivy::index::SegmentId;

use crate::error::Result;
use crate::generation_cache::GenerationCache;

/// One for the process: its bound holds however many indexes there are.
static TEXTS: LazyLock<GenerationCache<(SegmentId, DocId), str>> = LazyLock::new(GenerationCache::default);

/// The text of a document, from memory or by `read`.
///
/// # Errors
/// Those of `read`; nothing is kept then.
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

/// Bytes of texts in one of the two generations.
const BYTES_MAX: usize = 16 << 20;
