//! The layers of a model: tokens of texts → a vector for each token.
//!
//! BERT and its relatives share this encoder, because only names of weights and positions differ. candle-transformers
//! has a separate encoder for each, and a hundred other models that would be compiled too. Its DistilBERT approximates
//! GELU.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{D, Device, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};

use crate::config::{Activation, Config, Family};
use crate::error::{Failure, Result};
use crate::tokens::Tokenized;
use crate::weights::Weights;

pub type TensorResult = candle_core::Result<Tensor>;

/// A matrix, and the bias added to its products.
pub struct Linear {
    /// Transposed: inputs × outputs.
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    pub fn load(weights: &mut Weights, name: &str, inputs: usize, outputs: usize) -> Result<Self> {
        let weight = weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = weights.tensor(&format!("{name}.bias"), &[outputs])?;
        Ok(Self { weight: weight.t().map_err(Failure::of_weights)?, bias })
    }

    pub fn forward(&self, input: &Tensor) -> TensorResult {
        input.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

/// Layer normalisation: brings the components of a vector to a common scale.
struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

impl Norm {
    fn load(weights: &mut Weights, name: &str, config: &Config) -> Result<Self> {
        // Early checkpoints use the names of another library.
        let [weight, bias] =
            if weights.has(&format!("{name}.gamma")) { ["gamma", "beta"] } else { ["weight", "bias"] };
        Ok(Self {
            weight: weights.tensor(&format!("{name}.{weight}"), &[config.hidden])?,
            bias: weights.tensor(&format!("{name}.{bias}"), &[config.hidden])?,
            epsilon: config.epsilon as f32,
        })
    }

    fn forward(&self, input: &Tensor) -> TensorResult {
        layer_norm(input, &self.weight, &self.bias, self.epsilon)
    }
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    attention_norm: Norm,
    widen: Linear,
    narrow: Linear,
    norm: Norm,
}

impl Layer {
    fn load(weights: &mut Weights, config: &Config, number: usize) -> Result<Self> {
        let Config { hidden, intermediate, .. } = *config;
        let [layers, query, key, value, output, attention_norm, widen, narrow, norm] = match config.family {
            Family::Bert | Family::Roberta => [
                "encoder.layer",
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
                "attention.output.LayerNorm",
                "intermediate.dense",
                "output.dense",
                "output.LayerNorm",
            ],
            Family::DistilBert => [
                "transformer.layer",
                "attention.q_lin",
                "attention.k_lin",
                "attention.v_lin",
                "attention.out_lin",
                "sa_layer_norm",
                "ffn.lin1",
                "ffn.lin2",
                "output_layer_norm",
            ],
        };
        let named = |part: &str| format!("{layers}.{number}.{part}");
        Ok(Self {
            query: Linear::load(weights, &named(query), hidden, hidden)?,
            key: Linear::load(weights, &named(key), hidden, hidden)?,
            value: Linear::load(weights, &named(value), hidden, hidden)?,
            output: Linear::load(weights, &named(output), hidden, hidden)?,
            attention_norm: Norm::load(weights, &named(attention_norm), config)?,
            widen: Linear::load(weights, &named(widen), hidden, intermediate)?,
            narrow: Linear::load(weights, &named(narrow), intermediate, hidden)?,
            norm: Norm::load(weights, &named(norm), config)?,
        })
    }

    /// `states`: texts · tokens × components. `mask`: texts × 1 × 1 × tokens.
    fn forward(&self, states: &Tensor, texts: usize, mask: Option<&Tensor>, config: &Config) -> TensorResult {
        let attended = self.attended(states, texts, mask, config)?;
        let states = self.attention_norm.forward(&(self.output.forward(&attended)? + states)?)?;
        let wide = self.widen.forward(&states)?;
        let wide = match config.activation {
            Activation::Gelu => wide.gelu_erf(),
            Activation::GeluTanh => wide.gelu(),
            Activation::Relu => wide.relu(),
        }?;
        self.norm.forward(&(self.narrow.forward(&wide)? + states)?)
    }

    fn attended(
        &self,
        states: &Tensor,
        texts: usize,
        mask: Option<&Tensor>,
        config: &Config,
    ) -> TensorResult {
        let (rows, hidden) = states.dims2()?;
        let (tokens, size) = (rows / texts, hidden / config.heads);
        let by_head = |part: &Linear| {
            let split = part.forward(states)?.reshape((texts, tokens, config.heads, size))?;
            split.transpose(1, 2)?.contiguous()
        };
        let query = (by_head(&self.query)? / (size as f64).sqrt())?;
        let scores = query.matmul(&by_head(&self.key)?.transpose(D::Minus2, D::Minus1)?)?;
        let scores = match mask {
            Some(mask) => scores.broadcast_add(mask)?,
            None => scores,
        };
        let mixed = softmax_last_dim(&scores)?.matmul(&by_head(&self.value)?)?;
        mixed.transpose(1, 2)?.reshape((rows, hidden))
    }
}

/// A model without its tokenizer.
pub struct Encoder {
    config: Config,
    words: Tensor,
    /// Position weights, plus those of the token type if the model has any: `tokens` rows per type.
    positions: Tensor,
    /// Token types with rows in `positions`.
    types: usize,
    norm: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    /// Reads the weights described by `config`.
    ///
    /// `types_max`: token types that texts will have, at least one. Types beyond those of the model are read as the
    /// first.
    pub fn load(weights: &mut Weights, config: Config, types_max: usize) -> Result<Self> {
        let Config { hidden, first_position, tokens, .. } = config;
        let types = config.types.clamp(1, types_max);
        let words = weights.tensor("embeddings.word_embeddings.weight", &[config.vocabulary, hidden])?;
        let positions =
            weights.tensor("embeddings.position_embeddings.weight", &[config.positions, hidden])?;
        let mut positions = positions.narrow(0, first_position, tokens).map_err(Failure::of_weights)?;
        if config.types > 0 {
            let rows = weights.tensor("embeddings.token_type_embeddings.weight", &[config.types, hidden])?;
            let by_type: candle_core::Result<Vec<Tensor>> =
                (0..types).map(|kind| positions.broadcast_add(&rows.narrow(0, kind, 1)?)).collect();
            positions = by_type.and_then(|by_type| Tensor::cat(&by_type, 0)).map_err(Failure::of_weights)?;
        }
        let norm = Norm::load(weights, "embeddings.LayerNorm", &config)?;
        let layers =
            (0..config.layers).map(|number| Layer::load(weights, &config, number)).collect::<Result<_>>()?;
        Ok(Self { config, words, positions, types, norm, layers })
    }

    /// Components of a vector.
    pub fn dimensions(&self) -> usize {
        self.config.hidden
    }

    /// Returns the vectors of all tokens, including padding: texts × tokens of the longest text × components.
    ///
    /// # Errors
    /// `Stopped` after the current layer, once `stop` is set.
    pub fn forward(&self, texts: &[&Tokenized], stop: &AtomicBool) -> Result<Tensor> {
        let longest = texts.iter().map(|text| text.ids.len()).max().unwrap_or(0);
        let mut states = self.embedded(texts, longest).map_err(Failure::of_weights)?;
        let mask = mask(texts, longest).map_err(Failure::of_weights)?;
        for layer in &self.layers {
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Stopped);
            }
            let next = layer.forward(&states, texts.len(), mask.as_ref(), &self.config);
            states = next.map_err(Failure::of_weights)?;
        }
        states.reshape((texts.len(), longest, self.config.hidden)).map_err(Failure::of_weights)
    }

    fn embedded(&self, texts: &[&Tokenized], longest: usize) -> TensorResult {
        let mut ids = Vec::with_capacity(texts.len() * longest);
        for text in texts {
            ids.extend_from_slice(&text.ids);
            // Any token works, because the mask hides it.
            ids.resize(ids.len() + longest - text.ids.len(), 0);
        }
        let words = self.words.embedding(&Tensor::new(ids, &Device::Cpu)?)?;
        let words = words.reshape((texts.len(), longest, self.config.hidden))?;
        let placed = match self.types {
            1 => words.broadcast_add(&self.positions.narrow(0, 0, longest)?)?,
            _ => (words + self.placed(texts, longest)?)?,
        };
        self.norm.forward(&placed)?.flatten(0, 1)
    }

    /// Returns the rows of `positions` for all tokens, by their types.
    fn placed(&self, texts: &[&Tokenized], longest: usize) -> TensorResult {
        let row = |text: &Tokenized, at: usize| match text.types.get(at).copied().unwrap_or(0) as usize {
            kind if kind < self.types => kind * self.config.tokens + at,
            _ => at,
        };
        let rows: Vec<u32> =
            texts.iter().flat_map(|text| (0..longest).map(|at| row(text, at) as u32)).collect();
        let placed = self.positions.embedding(&Tensor::new(rows, &Device::Cpu)?)?;
        placed.reshape((texts.len(), longest, self.config.hidden))
    }
}

/// Returns the values to add to attention scores so that padding is ignored; None: there is no padding.
fn mask(texts: &[&Tokenized], longest: usize) -> candle_core::Result<Option<Tensor>> {
    if texts.iter().all(|text| text.ids.len() == longest) {
        return Ok(None);
    }
    let hidden = |text: &&Tokenized| {
        let length = text.ids.len();
        (0..longest).map(move |at| if at < length { 0.0 } else { f32::NEG_INFINITY })
    };
    let added: Vec<f32> = texts.iter().flat_map(hidden).collect();
    Tensor::from_vec(added, (texts.len(), 1, 1, longest), &Device::Cpu).map(Some)
}
