//! What does the owner of an index want?
//!
//! The same shape as `ts/settings/index-settings.ts`, which validates and completes it before it gets
//! here; nothing is checked twice. The JSON text is kept, so that it is given back as it came.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Context, Result};

/// Complete settings of one index.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// `*` alone: all.
    pub displayed_attributes: Vec<String>,
    /// `*` alone: all, in order of first appearance.
    pub searchable_attributes: Vec<String>,
    /// First matching rule decides.
    pub filterable_attributes: Vec<FilterableRule>,
    /// A field stands for those nested in it.
    pub sortable_attributes: Vec<String>,
    /// In order of importance.
    pub ranking_rules: Vec<String>,
    /// Compared before lower-casing.
    pub stop_words: Vec<String>,
    /// Taken out of the default separators.
    pub non_separator_tokens: Vec<String>,
    /// Added to the default separators.
    pub separator_tokens: Vec<String>,
    /// Never cut.
    pub dictionary: Vec<String>,
    /// Phrase → phrases that stand for it.
    pub synonyms: BTreeMap<String, Vec<String>>,
    /// At most one hit per value of it.
    pub distinct_attribute: Option<String>,
    /// How exactly nearness is known.
    pub proximity_precision: ProximityPrecision,
    /// When a misspelling is forgiven.
    pub typo_tolerance: TypoTolerance,
    /// How facet values are listed.
    pub faceting: Faceting,
    /// How far pages reach.
    pub pagination: Pagination,
    /// Name → settings of the embedder.
    pub embedders: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// None: [`DEFAULT_CUTOFF_MS`].
    pub search_cutoff_ms: Option<u64>,
    /// First matching rule decides.
    pub localized_attributes: Option<Vec<LocalizedRule>>,
    /// Whether facet values can be searched.
    pub facet_search: bool,
    /// Whether the last word may be unfinished.
    pub prefix_search: PrefixSearch,
    /// The JSON text these settings were read from.
    #[serde(skip)]
    pub raw: String,
}

/// Time budget of a search in milliseconds. Source: the customer's settings page.
pub const DEFAULT_CUTOFF_MS: u64 = 1500;

/// Which fields can be filtered on, and how.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FilterableRule {
    /// This field and those nested in it, with every feature.
    Field(String),
    /// Fields matching patterns, with some features.
    #[serde(rename_all = "camelCase")]
    Patterns {
        /// `x`, `x*`, `*x`, `*x*`.
        attribute_patterns: Vec<String>,
        /// What may be done with them.
        features: FilterableFeatures,
    },
}

/// What may be done with a filterable field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterableFeatures {
    /// Its values can be searched.
    pub facet_search: bool,
    /// Which operators it takes.
    pub filter: FilterOperators,
}

/// Operators a filterable field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FilterOperators {
    /// `=`, `!=`, `IN`.
    pub equality: bool,
    /// `<`, `<=`, `>`, `>=`, `TO`.
    pub comparison: bool,
}

/// How exactly nearness of words is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProximityPrecision {
    /// By counted words.
    ByWord,
    /// In the same attribute or not.
    ByAttribute,
}

/// When a misspelling is forgiven.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypoTolerance {
    /// False: never.
    pub enabled: bool,
    /// Characters a word needs.
    pub min_word_size_for_typos: MinWordSizeForTypos,
    /// Words that must be written right.
    pub disable_on_words: Vec<String>,
    /// Fields, with those nested in them, where words must be written right.
    pub disable_on_attributes: Vec<String>,
    /// Whether numbers must be written right.
    pub disable_on_numbers: bool,
}

/// Characters a word needs before typos are forgiven in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MinWordSizeForTypos {
    /// For one.
    pub one_typo: u8,
    /// For two.
    pub two_typos: u8,
}

/// How facet values are listed.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Faceting {
    /// Values per facet.
    pub max_values_per_facet: usize,
    /// Field or `*` → order.
    pub sort_facet_values_by: BTreeMap<String, FacetOrder>,
}

/// Order of the values of a facet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FacetOrder {
    /// By value.
    Alpha,
    /// Commonest first.
    Count,
}

/// How far pages reach.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// Hits beyond it cannot be reached.
    pub max_total_hits: usize,
}

/// Languages of some fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalizedRule {
    /// `x`, `x*`, `*x`, `*x*`.
    pub attribute_patterns: Vec<String>,
    /// Three-letter codes.
    pub locales: Vec<String>,
}

/// Whether the last word of a query may be unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixSearch {
    /// It may.
    IndexingTime,
    /// It may not.
    Disabled,
}

impl Settings {
    /// Reads settings from JSON, keeping the text.
    pub fn parse(json: &str) -> Result<Self> {
        let mut settings: Self = serde_json::from_str(json).context("settings of an index do not parse")?;
        settings.raw = json.to_owned();
        Ok(settings)
    }

    /// Whether every field is searchable, in order of first appearance.
    pub fn searches_everything(&self) -> bool {
        self.searchable_attributes.iter().any(|name| name == "*")
    }
}

impl Default for Settings {
    /// What a fresh index has. Source: the customer's settings page.
    fn default() -> Self {
        let all = || vec!["*".to_owned()];
        let rules = ["words", "typo", "proximity", "attributeRank", "sort", "wordPosition", "exactness"];
        Self {
            displayed_attributes: all(),
            searchable_attributes: all(),
            filterable_attributes: Vec::new(),
            sortable_attributes: Vec::new(),
            ranking_rules: rules.map(str::to_owned).to_vec(),
            stop_words: Vec::new(),
            non_separator_tokens: Vec::new(),
            separator_tokens: Vec::new(),
            dictionary: Vec::new(),
            synonyms: BTreeMap::new(),
            distinct_attribute: None,
            proximity_precision: ProximityPrecision::ByWord,
            typo_tolerance: TypoTolerance {
                enabled: true,
                min_word_size_for_typos: MinWordSizeForTypos { one_typo: 5, two_typos: 9 },
                disable_on_words: Vec::new(),
                disable_on_attributes: Vec::new(),
                disable_on_numbers: false,
            },
            faceting: Faceting {
                max_values_per_facet: 100,
                sort_facet_values_by: BTreeMap::from([("*".to_owned(), FacetOrder::Alpha)]),
            },
            pagination: Pagination { max_total_hits: 1000 },
            embedders: BTreeMap::new(),
            search_cutoff_ms: None,
            localized_attributes: None,
            facet_search: true,
            prefix_search: PrefixSearch::IndexingTime,
            raw: String::new(),
        }
    }
}
