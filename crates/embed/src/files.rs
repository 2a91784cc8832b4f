//! Names of the files of a model.

/// The weights, in the safetensors format.
pub const WEIGHTS: &str = "model.safetensors";
