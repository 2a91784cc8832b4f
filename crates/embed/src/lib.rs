//! Computes vectors of texts with sentence models, and scores of documents for a query with cross-encoders.
//!
//! Independent of indexes, Node and the source of models. A model consists of `config.json`, `tokenizer.json`,
//! `model.safetensors` and optionally `1_Pooling/config.json`. The files are not trusted: their claims are checked
//! before memory is allocated for them.

mod batches;
mod config;
mod cross_encoder;
mod encoder;
mod error;
mod files;
mod growth;
mod head;
mod limits;
mod pooling;
mod threads;
mod tokens;
mod weights;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use batches::in_batches;
use config::{read_config, read_pooling};
pub use cross_encoder::CrossEncoder;
use encoder::Encoder;
pub use error::{Failure, Result};
pub use pooling::Pooling;
pub use threads::Threads;
use tokens::{Tokenized, Tokens, Unit};
use weights::Weights;

/// The purpose of embedding texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Documents of a batch, on all threads.
    Documents,
    /// A search, which must not wait for documents.
    Search,
}

/// A loaded sentence model.
pub struct Model {
    encoder: Encoder,
    tokens: Tokens,
    pooling: Pooling,
    threads: Threads,
}

impl Model {
    /// Reads the model in `folder`.
    ///
    /// `pooling` combines the vectors of tokens; None: as configured by the model, or the mean by default.
    ///
    /// # Errors
    /// `Model` with the name of the file.
    pub fn load(folder: &Path, pooling: Option<Pooling>, threads: Threads) -> Result<Self> {
        let config = read_config(&folder.join(files::CONFIG))?;
        let pooling = match pooling {
            Some(pooling) => pooling,
            None => read_pooling(&folder.join("1_Pooling").join("config.json"))?,
        };
        let tokens = Tokens::load(&folder.join(files::TOKENIZER), &config, Unit::Single)?;
        let mut weights = Weights::of_model(folder, &config)?;
        Ok(Self { encoder: Encoder::load(&mut weights, config, 1)?, tokens, pooling, threads })
    }

    /// Components of each vector.
    pub fn dimensions(&self) -> usize {
        self.encoder.dimensions()
    }

    /// Returns the vectors of `texts` in sequence, each with `dimensions` components, not normalised. Text beyond the
    /// tokens that the model reads is ignored.
    ///
    /// # Errors
    /// `Stopped` soon after `stop` is set; `Model` if weights or tokens give no vector.
    pub fn embed<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        purpose: Purpose,
        stop: &AtomicBool,
    ) -> Result<Vec<f32>> {
        let pool = match purpose {
            Purpose::Documents => &self.threads.documents,
            Purpose::Search => &self.threads.searches,
        };
        pool.install(|| self.embed_here(texts, stop))
    }

    fn embed_here<T: AsRef<str> + Sync>(&self, texts: &[T], stop: &AtomicBool) -> Result<Vec<f32>> {
        let dimensions = self.dimensions();
        let tokens =
            texts.par_iter().map(|text| self.tokens.of(text.as_ref())).collect::<Result<Vec<_>>>()?;
        let made = in_batches(&tokens, |batch| self.embed_batch(batch, stop))?;
        let mut all = vec![0.0; texts.len() * dimensions];
        for (text, vector) in made {
            all[text * dimensions..][..dimensions].copy_from_slice(&vector);
        }
        Ok(all)
    }

    fn embed_batch(&self, texts: &[&Tokenized], stop: &AtomicBool) -> Result<Vec<Vec<f32>>> {
        let dimensions = self.dimensions();
        let states = self.encoder.forward(texts, stop)?;
        let states: Vec<f32> =
            states.flatten_all().and_then(|all| all.to_vec1()).map_err(Failure::of_weights)?;
        let padded = states.len() / texts.len();
        let vectors = texts.iter().zip(states.chunks_exact(padded));
        vectors
            .map(|(text, states)| {
                let vector = self.pooling.pooled(&states[..text.ids.len() * dimensions], dimensions);
                match vector.iter().all(|component| component.is_finite()) {
                    true => Ok(vector),
                    false => Err(Failure::not_finite()),
                }
            })
            .collect()
    }
}
