//! Schema and settings for reading and writing segments with tantivy.

use std::sync::Arc;

use tantivy::directory::Directory;
use tantivy::schema::Schema;
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{Index, IndexBuilder, IndexSettings};

use super::packed::PackedTokenizer;
use super::schema::{self, Fields, PACKED_TOKENIZER};
use super::short_prefixes::ShortPrefixPlugin;
use crate::analysis::Dictionaries;
use crate::cache::{Cache, Owner};
use crate::error::Result;

/// Schema, store settings and plugins of every segment, and the cache for what is computed from it. Cheap to clone.
#[derive(Clone)]
pub struct Layout {
    schema: Schema,
    fields: Fields,
    tokenizers: TokenizerManager,
    cache: Arc<Cache>,
    dictionaries: Dictionaries,
}

impl Layout {
    /// Returns the layout of the newest format, without a cache.
    pub fn newest() -> Self {
        let (schema, fields) = schema::build();
        let tokenizers = TokenizerManager::default();
        tokenizers.register(PACKED_TOKENIZER, PackedTokenizer::default());
        Self { schema, fields, tokenizers, cache: Cache::new(0), dictionaries: Dictionaries::default() }
    }

    /// Sets the cache for commits and segments that are opened with this layout.
    pub fn caching_in(self, cache: &Arc<Cache>) -> Self {
        Self { cache: Arc::clone(cache), ..self }
    }

    /// Sets the installed dictionaries.
    pub fn cutting_with(self, dictionaries: &Dictionaries) -> Self {
        Self { dictionaries: dictionaries.clone(), ..self }
    }

    /// Returns the installed dictionaries.
    pub fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    /// Returns a new owner of cache entries.
    pub(super) fn cache_owner(&self) -> Owner {
        self.cache.owner()
    }

    /// Returns the fields of the schema.
    pub fn fields(&self) -> Fields {
        self.fields
    }

    pub(super) fn settings(&self) -> IndexSettings {
        IndexSettings {
            docstore_compression: Compressor::Zstd(ZstdCompressor { compression_level: Some(STORE_LEVEL) }),
            // A thread per segment slows small commits down more than it speeds up large ones.
            docstore_compress_dedicated_thread: false,
            docstore_blocksize: STORE_BLOCK_BYTES,
            ..IndexSettings::default()
        }
    }

    /// Opens the tantivy index of the segments in `directory`; creates an empty one if it has none.
    pub(super) fn index(&self, directory: impl Directory) -> Result<Index> {
        let builder = IndexBuilder::new()
            .schema(self.schema.clone())
            .settings(self.settings())
            .tokenizers(self.tokenizers.clone());
        Ok(builder.register_plugin(Arc::new(ShortPrefixPlugin)).open_or_create(directory)?)
    }
}

/// Bytes of documents compressed together. Reading a hit decompresses one block.
const STORE_BLOCK_BYTES: usize = 8 << 10;

/// Compression level of zstd for stored documents.
const STORE_LEVEL: i32 = 3;
