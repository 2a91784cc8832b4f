//! Computes vectors of texts with sentence models.
//!
//! Independent of indexes, Node and the source of models. A model consists of `config.json`, `tokenizer.json`,
//! `model.safetensors` and optionally `1_Pooling/config.json`. The files are not trusted: their claims are checked
//! before memory is allocated for them.

mod config;
mod encoder;
mod error;
mod files;
mod growth;
mod limits;
mod pooling;
mod tokens;
mod weights;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use config::{Family, read_config, read_pooling};
use encoder::Encoder;
pub use error::{Failure, Result};
use limits::BATCH_TOKENS;
pub use pooling::Pooling;
use tokens::Tokens;
use weights::Weights;

/// The purpose of embedding texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Documents of a batch, on all threads.
    Documents,
    /// A search, which must not wait for documents.
    Search,
}

/// The threads shared by all models of a process.
#[derive(Clone)]
pub struct Threads {
    documents: Arc<rayon::ThreadPool>,
    searches: Arc<rayon::ThreadPool>,
}

impl Threads {
    /// Starts `count` threads for documents, at least one, and one for searches.
    ///
    /// # Errors
    /// If the system cannot start them.
    pub fn start(count: usize) -> std::result::Result<Self, String> {
        // Threads work on different texts. Splitting each matrix product as well was slower by up to a quarter.
        gemm::set_threading_threshold(usize::MAX);
        let pool = |count: usize, name: &'static str| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(count)
                .thread_name(move |number| format!("{name}-{number}"))
                .build()
                .map(Arc::new)
                .map_err(|error| error.to_string())
        };
        Ok(Self { documents: pool(count.max(1), "embed")?, searches: pool(1, "embed-search")? })
    }
}

/// A loaded model.
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
        let config = read_config(&folder.join("config.json"))?;
        let pooling = match pooling {
            Some(pooling) => pooling,
            None => read_pooling(&folder.join("1_Pooling").join("config.json"))?,
        };
        let tokens = Tokens::load(&folder.join("tokenizer.json"), &config)?;
        let prefixes: &[&str] = match config.family {
            Family::Bert => &["", "bert."],
            Family::Roberta => &["", "roberta."],
            Family::DistilBert => &["", "distilbert."],
        };
        let mut weights =
            Weights::open(&folder.join(files::WEIGHTS), prefixes, "embeddings.word_embeddings.weight")?;
        Ok(Self { encoder: Encoder::load(&mut weights, config)?, tokens, pooling, threads })
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
        let total: usize = tokens.iter().map(Vec::len).sum();
        let share = total.div_ceil(rayon::current_num_threads());
        let made = batches(&tokens, share.min(BATCH_TOKENS))
            .into_par_iter()
            .map(|batch| self.embed_batch(&batch, &tokens, stop).map(|vectors| (batch, vectors)))
            .collect::<Result<Vec<_>>>()?;
        let mut all = vec![0.0; texts.len() * dimensions];
        for (batch, vectors) in &made {
            for (text, vector) in batch.iter().zip(vectors) {
                all[text * dimensions..][..dimensions].copy_from_slice(vector);
            }
        }
        Ok(all)
    }

    fn embed_batch(&self, batch: &[usize], tokens: &[Vec<u32>], stop: &AtomicBool) -> Result<Vec<Vec<f32>>> {
        let dimensions = self.dimensions();
        let texts: Vec<&[u32]> = batch.iter().map(|text| tokens[*text].as_slice()).collect();
        let states = self.encoder.forward(&texts, stop)?;
        let padded = states.len() / texts.len();
        let vectors = texts.iter().zip(states.chunks_exact(padded));
        vectors
            .map(|(ids, states)| {
                let vector = self.pooling.pooled(&states[..ids.len() * dimensions], dimensions);
                match vector.iter().all(|component| component.is_finite()) {
                    true => Ok(vector),
                    false => Err(Failure::of_weights("its weights make numbers that are not finite")),
                }
            })
            .collect()
    }
}

/// Groups texts to compute together, given by index in `tokens`. Texts of a batch have similar lengths, to keep padding
/// small, and at most `max` tokens in total, unless a single text has more. Texts without tokens are left out.
fn batches(tokens: &[Vec<u32>], max: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..tokens.len()).filter(|at| !tokens[*at].is_empty()).collect();
    places.sort_by_key(|at| std::cmp::Reverse(tokens[*at].len()));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for at in places {
        match batches.last_mut() {
            // The first text is the longest.
            Some(batch) if (batch.len() + 1) * tokens[batch[0]].len() <= max => batch.push(at),
            _ => batches.push(vec![at]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::batches;

    #[test]
    fn batches_hold_texts_of_similar_lengths_and_no_texts_without_tokens() {
        let of_length = |length: usize| vec![7; length];
        let tokens: Vec<_> = [300, 2000, 0, 310, 290, 8].map(of_length).into();
        assert_eq!(batches(&tokens, 1024), [vec![1], vec![3, 0, 4], vec![5]]);
    }
}
