//! The head of a cross-encoder: the vector of the first token → a number.

use candle_core::Tensor;

use crate::config::{Config, Family};
use crate::encoder::{Linear, TensorResult};
use crate::error::{Failure, Result};
use crate::weights::Weights;

/// The function between the two layers of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    Tanh,
    Relu,
}

/// Two layers that make a number of a vector.
pub struct Head {
    dense: Linear,
    between: Between,
    output: Linear,
}

impl Head {
    /// Reads the head of a model for sequence classification, with the names of Hugging Face's transformers.
    ///
    /// # Errors
    /// `Model` if there is none, or if it has several labels.
    pub fn load(mut weights: Weights, config: &Config) -> Result<Self> {
        let hidden = config.hidden;
        let (dense, between, output) = match config.family {
            Family::Bert => ("pooler.dense", Between::Tanh, "classifier"),
            Family::Roberta => ("classifier.dense", Between::Tanh, "classifier.out_proj"),
            Family::DistilBert => ("pre_classifier", Between::Relu, "classifier"),
        };
        // The names of a head have no prefix, except that BERT's pooler is part of the encoder.
        let mut pooler = None;
        if config.family == Family::Bert && weights.has(&format!("{dense}.weight")) {
            pooler = Some(Linear::load(&mut weights, dense, hidden, hidden)?);
        }
        let mut weights = weights.unprefixed();
        let name = format!("{output}.weight");
        let problem = match weights.shape(&name) {
            Some(&[1, _]) => None,
            Some(&[labels, _]) => Some(format!("the model has {labels} labels, but a reranker has one")),
            _ => Some(format!("there is no tensor `{name}` in it, so the model is no cross-encoder")),
        };
        if let Some(reason) = problem {
            return Err(Failure::of_weights(reason));
        }
        let dense = match pooler {
            Some(pooler) => pooler,
            None => Linear::load(&mut weights, dense, hidden, hidden)?,
        };
        Ok(Self { dense, between, output: Linear::load(&mut weights, output, hidden, 1)? })
    }

    /// Returns the numbers of texts. `first`: texts × components, the vectors of their first tokens.
    pub fn forward(&self, first: &Tensor) -> TensorResult {
        let dense = self.dense.forward(first)?;
        let between = match self.between {
            Between::Tanh => dense.tanh(),
            Between::Relu => dense.relu(),
        }?;
        self.output.forward(&between)?.flatten_all()
    }
}
