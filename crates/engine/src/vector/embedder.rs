//! The settings of an embedder that determine its vectors. Source: vectors §2.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::settings::Settings;

/// Transformation of similarities before they are displayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Similarity that is displayed as 0.5.
    pub mean: f32,
    /// Distance from the mean of the similarities that are displayed as 0.9 and 0.1.
    pub sigma: f32,
}

/// An entry of the setting `embedders`.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedder {
    /// Its name.
    pub name: String,
    /// Provider of its vectors.
    pub source: String,
    /// `None` until the model has reported it.
    pub dimensions: Option<usize>,
    /// True if vectors are stored as a bit per component.
    pub binary: bool,
    /// `None` if similarities are displayed unchanged.
    pub shift: Option<Shift>,
    /// Its indexing fragments and their numbers; `None` if documents are rendered by a template.
    pub fragments: Option<BTreeMap<String, u8>>,
}

impl Embedder {
    /// Returns true if its vectors come only from clients.
    pub fn is_user_provided(&self) -> bool {
        self.source == "userProvided"
    }

    fn parse(name: &str, fields: &Map<String, Value>) -> Self {
        let (making, asking) = (half(fields, "indexingEmbedder"), half(fields, "searchEmbedder"));
        let (model, asked) = (model_of(making), model_of(asking));
        // Properties detected by the server and stored with the settings.
        let known = |key: &str| fields.get("known").and_then(|known| known.get(key));
        let dimensions = making.get("dimensions").or_else(|| known("dimensions")).and_then(Value::as_u64);
        let shift = fields.get("distribution").and_then(|distribution| {
            let part = |key: &str| distribution.get(key).and_then(Value::as_f64).map(|part| part as f32);
            Some(Shift { mean: part("mean")?, sigma: part("sigma")? })
        });
        let numbers = || {
            let numbers = known("fragments").and_then(Value::as_object).into_iter().flatten();
            numbers.filter_map(|(name, number)| Some((name.clone(), number.as_u64()? as u8))).collect()
        };
        Self {
            name: name.to_owned(),
            source: source_of(fields).to_owned(),
            dimensions: dimensions.map(|count| count as usize).or(model.map(|(dimensions, _)| dimensions)),
            binary: fields.get("binaryQuantized").and_then(Value::as_bool).unwrap_or(false),
            shift: shift.or(asked.or(model).map(|(_, shift)| shift)),
            fragments: making.contains_key("indexingFragments").then(numbers),
        }
    }
}

/// Returns all embedders of an index, by name.
pub fn embedders_of(settings: &Settings) -> BTreeMap<String, Embedder> {
    let parse =
        |(name, fields): (&String, &Map<String, Value>)| (name.clone(), Embedder::parse(name, fields));
    settings.embedders.iter().map(parse).collect()
}

fn source_of(fields: &Map<String, Value>) -> &str {
    fields.get("source").and_then(Value::as_str).unwrap_or("openAi")
}

/// Returns the indexing or search embedder of a composite one. Any other embedder serves as both.
fn half<'f>(fields: &'f Map<String, Value>, key: &str) -> &'f Map<String, Value> {
    let nested = fields.get(key).and_then(Value::as_object);
    nested.filter(|_| source_of(fields) == "composite").unwrap_or(fields)
}

fn model_of(fields: &Map<String, Value>) -> Option<(usize, Shift)> {
    let model = fields.get("model").and_then(Value::as_str);
    model.or(default_model(source_of(fields))).and_then(known_model)
}

fn default_model(source: &str) -> Option<&'static str> {
    match source {
        "openAi" => Some("text-embedding-3-small"),
        "huggingFace" => Some("BAAI/bge-base-en-v1.5"),
        _ => None,
    }
}

/// Returns dimensions and default shift of well-known models. Source: vectors §2.3.
fn known_model(name: &str) -> Option<(usize, Shift)> {
    let (dimensions, mean, sigma) = match name {
        "text-embedding-ada-002" => (1536, 0.9, 0.08),
        "text-embedding-3-small" => (1536, 0.75, 0.1),
        "text-embedding-3-large" => (3072, 0.7, 0.1),
        "BAAI/bge-base-en-v1.5" => (768, 0.85, 0.1),
        _ => return None,
    };
    Some((dimensions, Shift { mean, sigma }))
}
