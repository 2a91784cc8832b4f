//! Here is a folder with a sentence model and some texts: which vectors do they have?
//!
//! Knows neither indexes nor Node, nor where models come from. A model is `config.json`, `tokenizer.json`,
//! `model.safetensors` and, if there is one, `1_Pooling/config.json`. Its files may come from anybody: what they claim
//! is checked before anything is allocated for it.

mod config;
mod encoder;
mod error;
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

const WEIGHTS: &str = "model.safetensors";

/// What texts are embedded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Documents of a batch, on all threads.
    Documents,
    /// A search, which must not wait for documents.
    Search,
}

/// The threads that all models of a process share.
#[derive(Clone)]
pub struct Threads {
    documents: Arc<rayon::ThreadPool>,
    searches: Arc<rayon::ThreadPool>,
}

impl Threads {
    /// Starts `count` threads for documents, at least one, and one for searches.
    ///
    /// # Errors
    /// The system refuses to start them.
    pub fn start(count: usize) -> std::result::Result<Self, String> {
        // Texts are what threads share out. To share out each product of matrices too took longer, by up to a quarter.
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
    /// `pooling`: how vectors of tokens become one; None: as the model says, by the mean if it says nothing.
    ///
    /// # Errors
    /// `Model`, which names a file.
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
            Weights::open(&folder.join(WEIGHTS), prefixes, "embeddings.word_embeddings.weight")?;
        Ok(Self { encoder: Encoder::load(&mut weights, config)?, tokens, pooling, threads })
    }

    /// Components of each vector.
    pub fn dimensions(&self) -> usize {
        self.encoder.dimensions()
    }

    /// The vectors of `texts` one after the other, each of `dimensions` components, not normalised. What a text has
    /// beyond the tokens that the model reads does not count.
    ///
    /// # Errors
    /// `Stopped` soon after `stop` is set; `Model` for weights or tokens that make no vector.
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

/// Texts that are computed together, by their places in `tokens`: of like lengths, so that little is padded, and of at
/// most `max` tokens together, unless one text has more. A text without a token is in none.
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
    fn batches_hold_texts_of_like_lengths_and_none_without_tokens() {
        let of_length = |length: usize| vec![7; length];
        let tokens: Vec<_> = [300, 2000, 0, 310, 290, 8].map(of_length).into();
        assert_eq!(batches(&tokens, 1024), [vec![1], vec![3, 0, 4], vec![5]]);
    }
}
