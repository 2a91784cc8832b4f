//! Models that read a query together with a document.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::batches::in_batches;
use crate::config::read_config;
use crate::encoder::Encoder;
use crate::error::{Failure, Result};
use crate::files;
use crate::head::Head;
use crate::threads::Threads;
use crate::tokens::{Tokenized, Tokens, Unit};
use crate::weights::Weights;

/// Token types of a pair: the query has the first, the document the second.
const PAIR_TYPES: usize = 2;

/// A loaded model that scores documents for a query.
pub struct CrossEncoder {
    encoder: Encoder,
    head: Head,
    tokens: Tokens,
    threads: Threads,
}

impl CrossEncoder {
    /// Reads the model in `folder`.
    ///
    /// # Errors
    /// `Model` with the name of the file, also for a model that gives no number or several.
    pub fn load(folder: &Path, threads: Threads) -> Result<Self> {
        let config = read_config(&folder.join(files::CONFIG))?;
        let tokens = Tokens::load(&folder.join(files::TOKENIZER), &config, Unit::Pair)?;
        let mut weights = Weights::of_model(folder, &config)?;
        let encoder = Encoder::load(&mut weights, config.clone(), PAIR_TYPES)?;
        Ok(Self { encoder, head: Head::load(weights, &config)?, tokens, threads })
    }

    /// Returns the scores of `documents` in sequence, from 0 to 1: the logistic function of the model's number, as Text
    /// Embeddings Inference reports it. The longer text of a pair is cut first, to the tokens that the model reads.
    ///
    /// # Errors
    /// `Stopped` soon after `stop` is set; `Model` if weights or tokens give no score.
    pub fn score<T: AsRef<str> + Sync>(
        &self,
        query: &str,
        documents: &[T],
        stop: &AtomicBool,
    ) -> Result<Vec<f64>> {
        self.threads.rankings()?.install(|| self.score_here(query, documents, stop))
    }

    fn score_here<T: AsRef<str> + Sync>(
        &self,
        query: &str,
        documents: &[T],
        stop: &AtomicBool,
    ) -> Result<Vec<f64>> {
        let pair = |document: &T| match stop.load(Ordering::Relaxed) {
            true => Err(Failure::Stopped),
            false => self.tokens.of_pair(query, document.as_ref()),
        };
        let tokens = documents.par_iter().map(pair).collect::<Result<Vec<_>>>()?;
        let mut scores = vec![0.0; documents.len()];
        for (document, score) in in_batches(&tokens, |batch| self.score_batch(batch, stop))? {
            scores[document] = score;
        }
        Ok(scores)
    }

    fn score_batch(&self, pairs: &[&Tokenized], stop: &AtomicBool) -> Result<Vec<f64>> {
        let states = self.encoder.forward(pairs, stop)?;
        let numbers: Vec<f32> = states
            .narrow(1, 0, 1)
            .and_then(|first| first.squeeze(1)?.contiguous())
            .and_then(|first| self.head.forward(&first)?.to_vec1())
            .map_err(Failure::of_weights)?;
        let score = |number: f32| match number.is_finite() {
            // 32 bits would give all numbers above 17 the same score.
            true => Ok(1.0 / (1.0 + f64::from(-number).exp())),
            false => Err(Failure::not_finite()),
        };
        numbers.into_iter().map(score).collect()
    }
}
