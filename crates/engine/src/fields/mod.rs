//! Here is the name of a field, give me its id; and back.
//!
//! A field is a dotted path through objects (`cast.name`); arrays leave no mark in it. Ids are small,
//! given in order of first appearance and never given back, so a term on disk can carry one.

mod document_id;
mod patterns;

pub use document_id::{ID_BYTES_MAX, at_most, id_from, is_id, values_named};
pub use patterns::{is_same_or_below, matches_pattern};

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::error::{Error, Result};

/// Names one field inside one index.
pub type FieldId = u16;

/// As many fields as an index can have: documented limit of the API, and all that a [`FieldId`] can name.
pub const FIELDS_MAX: usize = 65_536;

/// All fields an index has ever seen. Append-only; cheap to read, cloned to be extended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldMap {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, FieldId, RandomState>,
}

impl FieldMap {
    /// Rebuilds the map from names in id order, as [`FieldMap::names`] gave them.
    pub fn from_names<S: Into<Arc<str>>>(names: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut map = Self::default();
        for name in names {
            map.insert_arc(name.into())?;
        }
        Ok(map)
    }

    /// The id of `name`, if any document ever had it.
    pub fn id(&self, name: &str) -> Option<FieldId> {
        self.ids.get(name).copied()
    }

    /// The name behind an id given by this map.
    pub fn name(&self, id: FieldId) -> Option<&str> {
        self.names.get(usize::from(id)).map(AsRef::as_ref)
    }

    /// The name behind an id, shared instead of copied.
    pub fn shared_name(&self, id: FieldId) -> Option<Arc<str>> {
        self.names.get(usize::from(id)).map(Arc::clone)
    }

    /// All names, in id order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// All ids with their names, in id order.
    pub fn iter(&self) -> impl Iterator<Item = (FieldId, &str)> {
        self.names().enumerate().map(|(id, name)| (id as FieldId, name))
    }

    /// How many fields are known.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no field is known.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The id of `name`, given now if it has none.
    ///
    /// # Errors
    /// `max_fields_limit_exceeded` once [`FIELDS_MAX`] names are known.
    pub fn insert(&mut self, name: &str) -> Result<FieldId> {
        match self.id(name) {
            Some(id) => Ok(id),
            None => self.insert_arc(Arc::from(name)),
        }
    }

    fn insert_arc(&mut self, name: Arc<str>) -> Result<FieldId> {
        if let Some(&id) = self.ids.get(&name) {
            return Ok(id);
        }
        let id = FieldId::try_from(self.names.len()).map_err(|_| {
            Error::user(
                "max_fields_limit_exceeded",
                format!("A document cannot contain more than {FIELDS_MAX} fields."),
            )
        })?;
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        Ok(id)
    }
}
