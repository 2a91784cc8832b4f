//! Where in a segment do words of two sides stand near one another?

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::DocId;

use super::cache::Kept;
use super::laid_out::LaidOut;
use super::lists::{List, SHARED_POSITIONS_MIN, frequency};
use super::reader::Segment;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::by_distance::{ByDistance, NearSets, near_bytes, near_sets, unite_near};
use crate::postings::by_field::{ByField, Fields};
use crate::postings::side::{Orders, Side};
use crate::store::{DELETED, DocidSet};

/// Documents by least distance, field by field, for each of some [`Orders`].
type NearByOrder = Vec<ByField<ByDistance>>;

impl Segment<'_> {
    /// Live documents where `right` follows `left`, by least distance in a field. A document may come at
    /// several distances. What is found in another order is kept.
    pub(crate) fn near(
        &self,
        left: &Side,
        right: &Side,
        orders: Orders,
        mut take: impl FnMut(FieldId, usize, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        let kept = self.kept_near(left, right, orders)?;
        for (field, near) in &kept.value {
            near.iter().enumerate().for_each(|(at, docs)| take(*field, at, self.mask(kept.lost, docs)));
        }
        Ok(())
    }

    /// What [`Segment::near`] speaks of, deleted documents included.
    pub(crate) fn kept_near(
        &self,
        left: &Side,
        right: &Side,
        orders: Orders,
    ) -> Result<Arc<Kept<ByField<ByDistance>>>> {
        let keep = |left: &Side, right: &Side, work_out: &dyn Fn() -> Result<ByField<ByDistance>>| {
            self.kept(&self.cache.near, (left.clone(), right.clone()), near_bytes, work_out)
        };
        keep(left, right, &|| {
            let mut near = self.work_out_near(left, right, orders)?.into_iter();
            let forward = near.next().unwrap_or_default();
            if let Some(backward) = near.next() {
                let backward = RefCell::new(backward);
                keep(right, left, &|| Ok(backward.take()))?;
            }
            Ok(forward)
        })
    }

    /// The shorter side is laid out by document, the other one only read past it.
    fn work_out_near(&self, left: &Side, right: &Side, orders: Orders) -> Result<NearByOrder> {
        for (side, other, other_is_left) in [(right, left, true), (left, right, false)] {
            if let Some(initial) = self.initial_of(side) {
                let lists = self.lists(other)?;
                let near =
                    |left_first: &bool| self.near_initial(&lists, initial, other_is_left == *left_first);
                return orders.left_comes_first().iter().map(near).collect();
            }
        }
        let (lefts, rights) = (self.lists(left)?, self.lists(right)?);
        let left_is_laid = frequency(&lefts) <= frequency(&rights);
        let (short, long) = if left_is_laid { (lefts, rights) } else { (rights, lefts) };
        let mut laid: BTreeMap<FieldId, LaidOut> = BTreeMap::new();
        for lists in short.chunk_by(|a, b| a.field == b.field) {
            laid.insert(lists[0].field, self.lay_out(lists)?);
        }
        let parts = self.read_lists(&long, SHARED_POSITIONS_MIN, |lists| {
            let mut by_order: Vec<Fields<NearSets>> =
                orders.left_comes_first().iter().map(|_| Fields::default()).collect();
            let mut reader = self.reader();
            for list in lists {
                let Some(laid) = laid.get(&list.field) else { continue };
                let in_field =
                    by_order.iter_mut().map(|fields| fields.of(list.field, || near_sets(self.view)));
                let mut in_orders: Vec<_> = orders.left_comes_first().iter().zip(in_field).collect();
                let wanted =
                    |doc: DocId| self.view.docids[doc as usize] != DELETED && !laid.at(doc).is_empty();
                reader.each_doc_with_positions(
                    &list.info,
                    &list.within,
                    self.positions,
                    wanted,
                    |doc, positions| {
                        for (left_first, sets) in &mut in_orders {
                            let laid_first = left_is_laid == **left_first;
                            if let Some(distance) = laid.least_distance(doc, positions, laid_first) {
                                sets[usize::from(distance) - 1].add(self.view.docids[doc as usize]);
                            }
                        }
                    },
                )?;
            }
            let finished = |fields: Fields<NearSets>| fields.finish(|sets| sets.map(DocidSet::finish));
            Ok(by_order.into_iter().map(finished).collect::<NearByOrder>())
        })?;
        let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        let of_next_order = |_: &bool| unite_near(parts.iter_mut().filter_map(Iterator::next));
        Ok(orders.left_comes_first().iter().map(of_next_order).collect())
    }

    /// Positions of lists of one field by segment docid.
    fn lay_out(&self, lists: &[List]) -> Result<LaidOut> {
        let mut places = Vec::with_capacity(frequency(lists) as usize);
        let mut reader = self.reader();
        for list in lists {
            reader.each_doc_with_positions(
                &list.info,
                &list.within,
                self.positions,
                |_| true,
                |doc, positions| {
                    places.extend(positions.iter().map(|&position| (doc, position as u16)));
                },
            )?;
        }
        Ok(LaidOut::new(places, self.view.reader.max_doc()))
    }
}
