//! Finds the documents of a segment where two words are near each other.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::DocId;

use super::cache::{Cached, SegmentPairs};
use super::lists::{ListRange, SHARED_POSITIONS_MIN, frequency};
use super::positions_by_doc::PositionsByDoc;
use super::reader::Segment;
use crate::cache::Both;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::by_distance::{ByDistance, NearSets, near_sets, unite_near};
use crate::postings::by_field::{ByField, ByFieldBuilder};
use crate::postings::side::{Orders, Side};
use crate::store::{DELETED, DocidSet};

/// For each order of [`Orders`], documents by field and least distance.
type NearByOrder = Vec<ByField<ByDistance>>;

impl Segment<'_> {
    /// Calls `take` with live documents where `right` follows `left`, by field and index of [`ByDistance`]. May list a
    /// document at several distances, among them its least distance in the field. With [`Orders::Both`], also caches
    /// the other order.
    pub(crate) fn near(
        &self,
        left: &Side,
        right: &Side,
        orders: Orders,
        mut take: impl FnMut(FieldId, usize, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        let cached = self.cached_near(left, right, orders)?;
        for (field, near) in &cached.value {
            near.iter().enumerate().for_each(|(at, docs)| take(*field, at, self.mask(cached.deleted, docs)));
        }
        Ok(())
    }

    /// Returns the cached value of [`Segment::near`], deleted documents included.
    pub(crate) fn cached_near(
        &self,
        left: &Side,
        right: &Side,
        orders: Orders,
    ) -> Result<Arc<Cached<ByField<ByDistance>>>> {
        let cached = |left: &Side, right: &Side, compute: &dyn Fn() -> Result<ByField<ByDistance>>| {
            let owned = || (left.clone(), right.clone());
            self.cached::<SegmentPairs, _>(&Both(left, right), owned, compute)
        };
        cached(left, right, &|| {
            let mut near = self.compute_near(left, right, orders)?.into_iter();
            let forward = near.next().unwrap_or_default();
            if let Some(backward) = near.next() {
                let backward = RefCell::new(backward);
                cached(right, left, &|| Ok(backward.take()))?;
            }
            Ok(forward)
        })
    }

    /// Reads the shorter side into positions by document, then streams the longer one past them.
    fn compute_near(&self, left: &Side, right: &Side, orders: Orders) -> Result<NearByOrder> {
        for (side, other, other_is_left) in [(right, left, true), (left, right, false)] {
            if let Some(prefix) = self.short_prefix_of(side) {
                let lists = self.lists(other)?;
                let near =
                    |left_first: &bool| self.near_short_prefix(&lists, prefix, other_is_left == *left_first);
                return orders.left_comes_first().iter().map(near).collect();
            }
        }
        let (lefts, rights) = (self.lists(left)?, self.lists(right)?);
        let left_is_by_doc = frequency(&lefts) <= frequency(&rights);
        let (short, long) = if left_is_by_doc { (lefts, rights) } else { (rights, lefts) };
        let mut by_doc: BTreeMap<FieldId, PositionsByDoc> = BTreeMap::new();
        for lists in short.chunk_by(|a, b| a.field == b.field) {
            by_doc.insert(lists[0].field, self.positions_by_doc(lists)?);
        }
        let parts = self.read_lists(&long, SHARED_POSITIONS_MIN, |lists| {
            let mut by_order: Vec<ByFieldBuilder<NearSets>> =
                orders.left_comes_first().iter().map(|_| ByFieldBuilder::default()).collect();
            let mut reader = self.reader();
            for list in lists {
                let Some(by_doc) = by_doc.get(&list.field) else { continue };
                let in_field =
                    by_order.iter_mut().map(|fields| fields.of(list.field, || near_sets(self.view)));
                let mut in_orders: Vec<_> = orders.left_comes_first().iter().zip(in_field).collect();
                let wanted =
                    |doc: DocId| self.view.docids[doc as usize] != DELETED && !by_doc.at(doc).is_empty();
                reader.each_doc_with_positions(
                    &list.info,
                    &list.within,
                    self.positions,
                    wanted,
                    |doc, positions| {
                        for (left_first, sets) in &mut in_orders {
                            let by_doc_first = left_is_by_doc == **left_first;
                            if let Some(distance) = by_doc.least_distance(doc, positions, by_doc_first) {
                                sets[usize::from(distance) - 1].add(self.view.docids[doc as usize]);
                            }
                        }
                    },
                )?;
            }
            let finished =
                |fields: ByFieldBuilder<NearSets>| fields.finish(|sets| sets.map(DocidSet::finish));
            Ok(by_order.into_iter().map(finished).collect::<NearByOrder>())
        })?;
        let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        let of_next_order = |_: &bool| unite_near(parts.iter_mut().filter_map(Iterator::next));
        Ok(orders.left_comes_first().iter().map(of_next_order).collect())
    }

    /// Reads the positions of the lists of one field, by segment docid.
    fn positions_by_doc(&self, lists: &[ListRange]) -> Result<PositionsByDoc> {
        let mut positions_of_docs = Vec::with_capacity(frequency(lists) as usize);
        let mut reader = self.reader();
        for list in lists {
            reader.each_doc_with_positions(
                &list.info,
                &list.within,
                self.positions,
                |_| true,
                |doc, positions| {
                    positions_of_docs.extend(positions.iter().map(|&position| (doc, position as u16)));
                },
            )?;
        }
        Ok(PositionsByDoc::new(positions_of_docs, self.view.reader.max_doc()))
    }
}
