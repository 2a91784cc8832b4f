//! Names of the files of a model.

/// The family and sizes.
pub const CONFIG: &str = "config.json";
/// The tokenizer, in the format of the library `tokenizers`.
pub const TOKENIZER: &str = "tokenizer.json";
/// The weights, in the safetensors format.
pub const WEIGHTS: &str = "model.safetensors";
