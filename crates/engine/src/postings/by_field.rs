//! Values by field. Fields without a value are left out.

use roaring::RoaringBitmap;

use crate::fields::FieldId;

/// Fields with their values, by ascending field.
pub(super) type ByField<T> = Vec<(FieldId, T)>;

/// Collects a value per field in a vector indexed by field id. An index has few fields, so this is faster than a map.
pub(super) struct ByFieldBuilder<T>(Vec<Option<T>>);

impl<T> Default for ByFieldBuilder<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByFieldBuilder<T> {
    pub(super) fn of(&mut self, field: FieldId, empty: impl FnOnce() -> T) -> &mut T {
        let at = usize::from(field);
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at].get_or_insert_with(empty)
    }

    /// Applies `finish` to each collected value.
    pub(super) fn finish<R>(self, mut finish: impl FnMut(T) -> R) -> ByField<R> {
        let fields = (0..).zip(self.0);
        fields.filter_map(|(field, building)| Some((field, finish(building?)))).collect()
    }
}

/// Adds `docs` to the documents of `field`.
pub(super) fn unite(fields: &mut ByField<RoaringBitmap>, field: FieldId, docs: &RoaringBitmap) {
    match fields.binary_search_by_key(&field, |(known, _)| *known) {
        Ok(at) => fields[at].1 |= docs,
        Err(at) => fields.insert(at, (field, docs.clone())),
    }
}
