//! The searchable attributes, their weights, and their typo tolerance.

use crate::fields::{FieldId, FieldMap, is_same_or_below};
use crate::settings::Settings;
use crate::store::schema::is_numeric;

/// Fields that are never searched as text, whatever the settings. Source: search §1.
const NEVER_SEARCHABLE: [&str; 3] = ["_vectors", "_geo", "_geojson"];

/// Settings for searching the fields of an index, by field id.
pub struct Searchable {
    /// By field id; `None` if not searchable.
    weights: Vec<Option<u16>>,
    /// By field id; true if the field never forgives typos.
    exact: Vec<bool>,
    weight_max: u16,
    numbers_are_exact: bool,
}

impl Searchable {
    /// Resolves the settings for all fields.
    pub fn new(fields: &FieldMap, settings: &Settings) -> Self {
        let everything = settings.searches_everything();
        let mut entries: Vec<&str> = Vec::new();
        for entry in settings.searchable_attributes.iter().filter(|_| !everything) {
            if !entries.contains(&entry.as_str()) {
                entries.push(entry);
            }
        }
        let weight = |name: &str| match entries.iter().position(|entry| is_same_or_below(entry, name)) {
            _ if NEVER_SEARCHABLE.iter().any(|reserved| is_same_or_below(reserved, name)) => None,
            _ if everything => Some(0),
            position => position.map(|position| u16::try_from(position).unwrap_or(u16::MAX)),
        };
        let typo = &settings.typo_tolerance;
        let exact = |name: &str| typo.disable_on_attributes.iter().any(|entry| is_same_or_below(entry, name));
        Self {
            weights: fields.names().map(weight).collect(),
            exact: fields.names().map(exact).collect(),
            weight_max: u16::try_from(entries.len().saturating_sub(1)).unwrap_or(u16::MAX),
            numbers_are_exact: typo.disable_on_numbers,
        }
    }

    /// Returns the rank of the attribute among the searchable ones, 0 for the most important; `None` if not searchable.
    pub fn weight(&self, field: FieldId) -> Option<u16> {
        self.weights.get(usize::from(field)).copied().flatten()
    }

    /// Returns the greatest weight that an attribute can have.
    pub fn weight_max(&self) -> u16 {
        self.weight_max
    }

    /// Returns all searchable fields, by ascending id.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        (0..self.weights.len() as FieldId).filter(|&field| self.weight(field).is_some())
    }

    /// Returns true if words in `field` may match misspelt query words.
    pub fn field_forgives(&self, field: FieldId) -> bool {
        !self.exact.get(usize::from(field)).copied().unwrap_or(false)
    }

    /// Returns true if numbers match only without typos.
    pub(super) fn numbers_are_exact(&self) -> bool {
        self.numbers_are_exact
    }

    /// Returns true if `word` may match a misspelt query word.
    pub fn word_forgives(&self, word: &str) -> bool {
        !(self.numbers_are_exact && is_numeric(word))
    }
}
