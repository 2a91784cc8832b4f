//! Limits on models, and on the size of a computation.

/// Bytes of a configuration file such as `config.json`.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Bytes of `tokenizer.json`. Vocabularies for a hundred languages take 17 MB.
pub const TOKENIZER_BYTES_MAX: u64 = 64 << 20;
/// Bytes of the header of the weights, with names and shapes. Large models have 100 kB.
pub const HEADER_BYTES_MAX: u64 = 8 << 20;

/// Components of a vector.
pub const HIDDEN_MAX: usize = 8192;
/// Components between the two halves of a layer.
pub const INTERMEDIATE_MAX: usize = 65_536;
/// Layers of a model.
pub const LAYERS_MAX: usize = 256;
/// Heads of a layer.
pub const HEADS_MAX: usize = 256;
/// Number of distinct tokens.
pub const VOCABULARY_MAX: usize = 4_000_000;
/// Positions with weights.
pub const POSITIONS_MAX: usize = 1 << 20;

/// Tokens of a text that are read, if the model does not specify it. Source: vectors §2.3.
pub const TOKENS_DEFAULT: usize = 512;
/// Limit on the tokens of a text that are read, whatever the model specifies: time and memory grow with their square.
pub const TOKENS_MAX: usize = 2048;
/// Numbers in the attention of a layer for a batch: 256 MiB.
pub const SCORES_MAX: usize = 1 << 26;
/// Bytes of a text to tokenize, per token that is read.
pub const BYTES_PER_TOKEN: usize = 64;
/// Bytes that one byte of a text may become by normalising.
pub const GROWTH_MAX: usize = 1024;
/// Tokens of a batch including padding, unless a single text has more. Larger batches are not faster, and leave less
/// work to distribute among threads.
pub const BATCH_TOKENS: usize = 256;
