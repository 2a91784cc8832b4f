//! Finds the distances between two sides of a pair: from a cache of the complete index, or from their occurrences in
//! each document.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::by_distance::ByDistance;
use super::nearness::NEAR_DOCUMENTS_MIN;
use super::occurrences::Occurrences;
use super::reader::Postings;
use super::side::{Orders, Side};
use crate::error::Result;

/// Words and phrases of the index, as one side of a pair.
pub trait PairSide {
    /// Returns the word or prefix that covers most of them. None if no single one does.
    fn main(&self) -> Option<&Side>;

    /// Returns the part of [`main`](Self::main) that may also follow the other side instead of preceding it.
    fn reversible(&self) -> Option<&Side>;

    /// Returns the documents of `universe` where the side may occur by something that [`main`](Self::main) does not
    /// cover.
    fn other_docs(&self, universe: &RoaringBitmap) -> Result<RoaringBitmap>;

    /// Returns the occurrences in documents of `universe`.
    fn occurrences(&self, universe: &RoaringBitmap) -> Result<SideOccurrences>;
}

/// Occurrences of one side of a pair.
#[derive(Default)]
pub struct SideOccurrences {
    /// All occurrences.
    pub all: Rc<Occurrences>,
    /// Occurrences that may also follow the other side instead of preceding it.
    pub reversible: Rc<Occurrences>,
}

/// Documents by the distance between two sides of a pair.
#[derive(Default)]
pub struct Distances {
    /// The right side follows the left one.
    pub forward: Near,
    /// The left side follows the right one. Empty for [`Orders::Forward`].
    pub backward: Near,
}

/// Documents by distance in one order. May list a document several times; its least distance counts.
#[derive(Default)]
pub struct Near {
    sets: Option<Arc<ByDistance>>,
    /// Documents with their distances, from 1 to `DISTANCE_MAX`.
    pub documents: Vec<(u32, u8)>,
}

impl Near {
    /// Returns documents of the index at distance 1, 2 and so on. May be empty, and may include other documents than
    /// the requested ones.
    pub fn sets(&self) -> &[RoaringBitmap] {
        self.sets.as_deref().map_or(&[], |sets| &sets[..])
    }
}

impl Postings {
    /// Returns the distances between `left` and `right` in documents of `universe`.
    pub fn distances(
        &self,
        left: &impl PairSide,
        right: &impl PairSide,
        universe: &RoaringBitmap,
        orders: Orders,
    ) -> Result<Distances> {
        match self.cached_distances(left, right, universe, orders)? {
            Some(distances) => Ok(distances),
            None => read_distances(left, right, universe, orders),
        }
    }

    /// Returns distances that are cached for the complete index, or worth computing for it. Reads only documents that
    /// these do not cover. Returns None if the distances are not cached, or cover less than half of the documents.
    fn cached_distances(
        &self,
        left: &impl PairSide,
        right: &impl PairSide,
        universe: &RoaringBitmap,
        orders: Orders,
    ) -> Result<Option<Distances>> {
        let (Some(first), Some(second)) = (left.main(), right.main()) else { return Ok(None) };
        let mut others = left.other_docs(universe)?;
        others |= right.other_docs(universe)?;
        if others.len() * 2 > universe.len() {
            return Ok(None);
        }
        let near = |left: &Side, right: &Side, orders: Orders| match universe.len() >= NEAR_DOCUMENTS_MIN {
            true => self.near_docs(left, right, orders).map(Some),
            false => self.near_docs_if_cheap(left, right, orders, universe.len()),
        };
        let both_reverse = left.reversible() == Some(first) && right.reversible() == Some(second);
        let cached_orders = if both_reverse { Orders::Both } else { Orders::Forward };
        let Some(forward) = near(first, second, cached_orders)? else { return Ok(None) };
        let backward = match (orders, left.reversible(), right.reversible()) {
            (Orders::Both, Some(left), Some(right)) => {
                let Some(backward) = near(right, left, Orders::Forward)? else { return Ok(None) };
                Some(backward)
            }
            _ => None,
        };
        let mut found = match others.is_empty() {
            true => Distances::default(),
            false => read_distances(left, right, &others, orders)?,
        };
        found.forward.sets = Some(forward);
        found.backward.sets = backward;
        Ok(Some(found))
    }
}

/// Returns the distances between the occurrences of both sides in each document of `universe`.
fn read_distances(
    left: &impl PairSide,
    right: &impl PairSide,
    universe: &RoaringBitmap,
    orders: Orders,
) -> Result<Distances> {
    let (lefts, rights) = (left.occurrences(universe)?, right.occurrences(universe)?);
    let mut found = Distances::default();
    found.forward.documents = lefts.all.distances_to(&rights.all);
    if orders == Orders::Both {
        found.backward.documents = rights.reversible.distances_to(&lefts.reversible);
    }
    Ok(found)
}
