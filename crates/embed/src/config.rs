//! Reads `config.json` and `1_Pooling/config.json`: family and sizes of a model, and its pooling.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Failure, Result};
use crate::limits::{
    CONFIG_BYTES_MAX, HEADS_MAX, HIDDEN_MAX, INTERMEDIATE_MAX, LAYERS_MAX, POSITIONS_MAX, SCORES_MAX,
    TOKENS_DEFAULT, TOKENS_MAX, VOCABULARY_MAX,
};
use crate::pooling::Pooling;

/// Models with the same layers but different names of weights and different positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// BERT.
    Bert,
    /// RoBERTa, XLM-RoBERTa and CamemBERT: positions begin after the position of padding.
    Roberta,
    /// DistilBERT: without token types.
    DistilBert,
}

/// The function between the two halves of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// GELU with the error function.
    Gelu,
    /// GELU with the hyperbolic tangent.
    GeluTanh,
    /// Rectified linear.
    Relu,
}

/// The configuration of a model, checked against the limits but not yet against the weights.
#[derive(Debug, Clone)]
pub struct Config {
    pub family: Family,
    pub activation: Activation,
    /// Number of distinct tokens.
    pub vocabulary: usize,
    /// Components of a vector.
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub intermediate: usize,
    /// Rows of the position weights.
    pub positions: usize,
    /// The row of the first token of a text.
    pub first_position: usize,
    /// Rows of the token type weights; 0: none.
    pub types: usize,
    pub epsilon: f64,
    /// Tokens of a text that are read, including special ones.
    pub tokens: usize,
}

/// The file as models contain it. DistilBERT uses different names for the sizes.
#[derive(Deserialize)]
struct RawConfig {
    #[serde(default = "bert")]
    model_type: String,
    vocab_size: usize,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    #[serde(alias = "activation", default = "gelu")]
    hidden_act: String,
    max_position_embeddings: Option<usize>,
    type_vocab_size: Option<usize>,
    layer_norm_eps: Option<f64>,
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
}

fn bert() -> String {
    "bert".to_owned()
}

fn gelu() -> String {
    "gelu".to_owned()
}

/// Reads `config.json`.
pub fn read_config(path: &Path) -> Result<Config> {
    let raw: RawConfig = read_json(path)?.ok_or_else(|| Failure::of(path, "there is no such file"))?;
    let family = match raw.model_type.as_str() {
        "bert" => Family::Bert,
        "roberta" | "xlm-roberta" | "camembert" => Family::Roberta,
        "distilbert" => Family::DistilBert,
        other => {
            let known = "bert, roberta, xlm-roberta, camembert, distilbert";
            return Err(Failure::of(path, format!("the model type `{other}` is not supported; {known} are")));
        }
    };
    let activation = match raw.hidden_act.as_str() {
        "gelu" => Activation::Gelu,
        "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
        "relu" => Activation::Relu,
        other => return Err(Failure::of(path, format!("the activation `{other}` is not supported"))),
    };
    if let Some(other) = raw.position_embedding_type.filter(|kind| kind != "absolute") {
        return Err(Failure::of(path, format!("positions of the type `{other}` are not supported")));
    }
    let within = |name: &str, value: usize, max: usize| match value {
        1.. if value <= max => Ok(value),
        _ => Err(Failure::of(path, format!("`{name}` is {value}, but can be 1 to {max}"))),
    };
    let hidden = within("hidden_size", raw.hidden_size, HIDDEN_MAX)?;
    let heads = within("num_attention_heads", raw.num_attention_heads, HEADS_MAX)?;
    if hidden % heads != 0 {
        return Err(Failure::of(path, format!("{heads} heads cannot share {hidden} components")));
    }
    let first_position = match family {
        Family::Roberta => {
            within("pad_token_id", raw.pad_token_id.unwrap_or(1).saturating_add(1), POSITIONS_MAX)?
        }
        Family::Bert | Family::DistilBert => 0,
    };
    let positions = raw.max_position_embeddings.unwrap_or(TOKENS_DEFAULT + first_position);
    let positions = within("max_position_embeddings", positions, POSITIONS_MAX)?;
    let counted = within("max_position_embeddings", positions.saturating_sub(first_position), POSITIONS_MAX)?;
    Ok(Config {
        family,
        activation,
        vocabulary: within("vocab_size", raw.vocab_size, VOCABULARY_MAX)?,
        hidden,
        layers: within("num_hidden_layers", raw.num_hidden_layers, LAYERS_MAX)?,
        heads,
        intermediate: within("intermediate_size", raw.intermediate_size, INTERMEDIATE_MAX)?,
        positions,
        first_position,
        types: match family {
            Family::DistilBert => 0,
            _ => within("type_vocab_size", raw.type_vocab_size.unwrap_or(2), VOCABULARY_MAX)?,
        },
        epsilon: raw.layer_norm_eps.filter(|epsilon| epsilon.is_finite()).unwrap_or(1e-12),
        tokens: counted.min(TOKENS_MAX).min((SCORES_MAX / heads).isqrt()),
    })
}

/// The file as written by sentence-transformers.
#[derive(Deserialize)]
struct RawPooling {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
}

/// Reads `1_Pooling/config.json`. If it names several kinds of pooling, the first counts; without the file, the mean is
/// used. Source: vectors §2.3.
pub fn read_pooling(path: &Path) -> Result<Pooling> {
    let Some(raw): Option<RawPooling> = read_json(path)? else { return Ok(Pooling::Mean) };
    let ways = [
        (raw.pooling_mode_cls_token, Pooling::Cls),
        (raw.pooling_mode_mean_tokens, Pooling::Mean),
        (raw.pooling_mode_lasttoken, Pooling::Last),
        (raw.pooling_mode_mean_sqrt_len_tokens, Pooling::MeanSqrtLength),
        (raw.pooling_mode_max_tokens, Pooling::Max),
    ];
    let found = ways.into_iter().find_map(|(is_on, pooling)| is_on.then_some(pooling));
    found.ok_or_else(|| {
        let reason = "it names no supported kind of pooling; use `forceMean` or `forceCls` instead";
        Failure::of(path, reason)
    })
}

/// Returns None if the file does not exist.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(bytes) = read_bounded(path, CONFIG_BYTES_MAX)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| Failure::of(path, error))
}

/// Reads a file of at most `max` bytes. Returns None if the file does not exist.
pub fn read_bounded(path: &Path, max: u64) -> Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| Failure::of(path, error))?,
    };
    let mut bytes = Vec::new();
    let read = file.take(max + 1).read_to_end(&mut bytes).map_err(|error| Failure::of(path, error))?;
    if read as u64 > max {
        return Err(Failure::of(path, format!("it is larger than {max} bytes")));
    }
    Ok(Some(bytes))
}
