//! Maps names of fields to ids and back.
//!
//! A field is a dotted path through objects (`cast.name`); arrays do not appear in it. Ids are small, assigned in order
//! of first appearance and never reused, so that terms on disk can contain them.

mod document_id;
mod patterns;

pub use document_id::{ID_BYTES_MAX, at_most, id_from, is_id, values_named};
pub use patterns::{is_same_or_below, matches_pattern, shown_names};

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::error::{Error, Result};

/// Identifies a field in an index.
pub type FieldId = u16;

/// Maximum number of fields in an index: the documented limit of the API, and the range of [`FieldId`].
pub const FIELDS_MAX: usize = 65_536;

/// All fields that ever occurred in an index. Append-only; cheap to read, cloned to be extended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldMap {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, FieldId, RandomState>,
}

impl FieldMap {
    /// Rebuilds the map from names in id order, as returned by [`FieldMap::names`].
    pub fn from_names<S: Into<Arc<str>>>(names: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut map = Self::default();
        for name in names {
            map.insert_arc(name.into())?;
        }
        Ok(map)
    }

    /// Returns the id of `name`, if a document ever had this field.
    pub fn id(&self, name: &str) -> Option<FieldId> {
        self.ids.get(name).copied()
    }

    /// Returns the name of an id of this map.
    pub fn name(&self, id: FieldId) -> Option<&str> {
        self.names.get(usize::from(id)).map(AsRef::as_ref)
    }

    /// Returns the name of an id, shared instead of copied.
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

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the id of `name`, assigned now if it has none.
    ///
    /// # Errors
    /// `max_fields_limit_exceeded` once there are [`FIELDS_MAX`] names.
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
                format!("a document brings the index to more than {FIELDS_MAX} field names"),
            )
        })?;
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        Ok(id)
    }
}
