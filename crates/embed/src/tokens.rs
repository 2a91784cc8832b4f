//! Tokenizes texts with `tokenizer.json`, up to the number of tokens that the model reads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tokenizers::{EncodeInput, Encoding, Tokenizer, TruncationParams};

use crate::config::{Config, read_bounded};
use crate::error::{Failure, Result};
use crate::growth::growth;
use crate::limits::{BYTES_PER_TOKEN, GROWTH_MAX, TOKENIZER_BYTES_MAX};

/// The tokens of a text or of a pair of texts.
pub struct Tokenized {
    pub ids: Vec<u32>,
    /// The type of each token; empty: all have the first.
    pub types: Vec<u32>,
}

/// The number of texts that the tokenizer joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A text.
    Single,
    /// Two texts.
    Pair,
}

/// Tokenizes texts, or pairs of texts.
pub struct Tokens {
    path: PathBuf,
    tokenizer: Tokenizer,
    vocabulary: usize,
    bytes_max: usize,
}

impl Tokens {
    /// Reads `tokenizer.json`.
    pub fn load(path: &Path, config: &Config, unit: Unit) -> Result<Self> {
        let wrong = |reason: String| Failure::of(path, reason);
        let bytes = read_bounded(path, TOKENIZER_BYTES_MAX)?
            .ok_or_else(|| wrong("there is no such file".to_owned()))?;
        let json = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        let times = growth(&json);
        if times > GROWTH_MAX {
            return Err(wrong(format!("it may make a text {times} times as long before it cuts it")));
        }
        let mut tokenizer = guarded(|| Tokenizer::from_bytes(&bytes)).map_err(wrong)?;
        let added_to = |is_pair| {
            let processor = tokenizer.get_post_processor();
            processor.map_or(0, |processor| tokenizers::PostProcessor::added_tokens(processor, is_pair))
        };
        let added = match unit {
            Unit::Single => added_to(false),
            // The library subtracts both numbers from the number of tokens.
            Unit::Pair => added_to(false).max(added_to(true)),
        };
        if added >= config.tokens {
            let unit = if unit == Unit::Pair { "pair of texts" } else { "text" };
            let reason = format!("it adds {added} tokens to a {unit}, but the model reads {}", config.tokens);
            return Err(wrong(reason));
        }
        // The default strategy cuts the longer text of a pair first, so that a long query leaves half of the tokens to
        // the document. Source: CrossEncoder of sentence-transformers.
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

    /// Returns the tokens of a text.
    pub fn of(&self, text: &str) -> Result<Tokenized> {
        let ids = self.encoded(self.cut(text).into())?.get_ids().to_vec();
        Ok(Tokenized { ids, types: Vec::new() })
    }

    /// Returns the tokens of a pair of texts, as the tokenizer joins them.
    pub fn of_pair(&self, first: &str, second: &str) -> Result<Tokenized> {
        let encoding = self.encoded((self.cut(first), self.cut(second)).into())?;
        Ok(Tokenized { ids: encoding.get_ids().to_vec(), types: encoding.get_type_ids().to_vec() })
    }

    /// Returns the beginning of a text, which has more tokens than the model reads.
    fn cut<'t>(&self, text: &'t str) -> &'t str {
        let mut end = self.bytes_max.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }

    fn encoded(&self, input: EncodeInput<'_>) -> Result<Encoding> {
        let wrong = |reason: String| Failure::of(&self.path, reason);
        let encoding = guarded(|| self.tokenizer.encode_fast(input, true)).map_err(wrong)?;
        match encoding.get_ids().iter().find(|id| **id as usize >= self.vocabulary) {
            Some(id) => {
                let size = self.vocabulary;
                Err(wrong(format!("it makes the token {id}, but config.json says there are {size}")))
            }
            None => Ok(encoding),
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
