//! One value for each of some fields.

use roaring::RoaringBitmap;

use crate::fields::FieldId;

/// By ascending field.
pub(super) type ByField<T> = Vec<(FieldId, T)>;

/// Something on its way, field by field. Many documents have few fields, so each is found by its number.
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

    /// Finished one by one.
    pub(super) fn finish<R>(self, mut finish: impl FnMut(T) -> R) -> ByField<R> {
        let fields = (0..).zip(self.0);
        fields.filter_map(|(field, building)| Some((field, finish(building?)))).collect()
    }
}

/// Adds documents to those of a field.
pub(super) fn unite(fields: &mut ByField<RoaringBitmap>, field: FieldId, docs: &RoaringBitmap) {
    match fields.binary_search_by_key(&field, |(known, _)| *known) {
        Ok(at) => fields[at].1 |= docs,
        Err(at) => fields.insert(at, (field, docs.clone())),
    }
}

pub(super) fn bitmap_bytes(docs: &RoaringBitmap) -> usize {
    docs.serialized_size() + size_of::<RoaringBitmap>()
}
