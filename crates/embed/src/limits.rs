//! What a model may claim, and how much is computed at a time.

/// Bytes of a file of settings, such as `config.json`.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Bytes of `tokenizer.json`. Vocabularies of a hundred languages take 17 MB.
pub const TOKENIZER_BYTES_MAX: u64 = 64 << 20;
/// Bytes of the names and shapes at the head of the weights. Large models have 100 kB.
pub const HEADER_BYTES_MAX: u64 = 8 << 20;

/// Components of a vector.
pub const HIDDEN_MAX: usize = 8192;
/// Components between the two halves of a layer.
pub const INTERMEDIATE_MAX: usize = 65_536;
/// Layers of a model.
pub const LAYERS_MAX: usize = 256;
/// Heads of a layer.
pub const HEADS_MAX: usize = 256;
/// Different tokens.
pub const VOCABULARY_MAX: usize = 4_000_000;
/// Positions that a model has weights for.
pub const POSITIONS_MAX: usize = 1 << 20;

/// Tokens of a text that count where the model says nothing. Source: vectors §2.3.
pub const TOKENS_DEFAULT: usize = 512;
/// Tokens of a text that count, whatever the model claims: time and memory grow with their square.
pub const TOKENS_MAX: usize = 2048;
/// Numbers in the attention of one layer, of one batch: 256 MiB.
pub const SCORES_MAX: usize = 1 << 26;
/// Bytes of a text that are tokenized for each token that counts.
pub const BYTES_PER_TOKEN: usize = 64;
/// Bytes that one byte of a text may become before it is cut into tokens.
pub const GROWTH_MAX: usize = 1024;
/// Tokens of one batch with those that pad its texts, unless a single text has more. More took no less time, and leave
/// less to share out among threads.
pub const BATCH_TOKENS: usize = 256;
