//! Tokenizes texts with `tokenizer.json`, up to the number of tokens that the model reads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tokenizers::{Tokenizer, TruncationParams};

use crate::config::{Config, read_bounded};
use crate::error::{Failure, Result};
use crate::growth::growth;
use crate::limits::{BYTES_PER_TOKEN, GROWTH_MAX, TOKENIZER_BYTES_MAX};

/// Tokenizes texts.
pub struct Tokens {
    path: PathBuf,
    tokenizer: Tokenizer,
    vocabulary: usize,
    bytes_max: usize,
}

impl Tokens {
    /// Reads `tokenizer.json`.
    pub fn load(path: &Path, config: &Config) -> Result<Self> {
        let wrong = |reason: String| Failure::of(path, reason);
        let bytes = read_bounded(path, TOKENIZER_BYTES_MAX)?
            .ok_or_else(|| wrong("there is no such file".to_owned()))?;
        let json = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        let times = growth(&json);
        if times > GROWTH_MAX {
            return Err(wrong(format!("it may make a text {times} times as long before it cuts it")));
        }
        let mut tokenizer = guarded(|| Tokenizer::from_bytes(&bytes)).map_err(wrong)?;
        let added = tokenizer
            .get_post_processor()
            .map_or(0, |processor| tokenizers::PostProcessor::added_tokens(processor, false));
        if added >= config.tokens {
            let reason = format!("it adds {added} tokens to a text, but the model reads {}", config.tokens);
            return Err(wrong(reason));
        }
        let truncation = TruncationParams { max_length: config.tokens, ..TruncationParams::default() };
        // The file's values for padding and truncation are meant for other uses of the model.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(Some(truncation)).map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            tokenizer,
            vocabulary: config.vocabulary,
            bytes_max: config.tokens * BYTES_PER_TOKEN,
        })
    }

    /// Returns the token ids of a text.
    pub fn of(&self, text: &str) -> Result<Vec<u32>> {
        let wrong = |reason: String| Failure::of(&self.path, reason);
        let mut end = self.bytes_max.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let encoding = guarded(|| self.tokenizer.encode_fast(text, true)).map_err(wrong)?;
        let ids = encoding.get_ids();
        match ids.iter().find(|id| **id as usize >= self.vocabulary) {
            Some(id) => {
                let size = self.vocabulary;
                Err(wrong(format!("it makes the token {id}, but config.json says there are {size}")))
            }
            None => Ok(ids.to_vec()),
        }
    }
}

/// Calls the tokenizers library, which panics on some malformed files.
fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err("it is malformed".to_owned()),
    }
}
