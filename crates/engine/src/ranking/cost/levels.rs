//! Collects what one step costs each of many documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::sink::CostSink;

/// Documents by the cost of a step. A document counts in the first level that contains it.
pub(super) struct CostLevels {
    /// Cheapest first.
    pub(super) levels: Vec<(u32, Arc<RoaringBitmap>)>,
    /// True if all levels hold only documents of the universe.
    pub(super) are_within: bool,
}

/// Builds [`CostLevels`].
pub(super) struct CostLevelsBuilder<'a> {
    universe: &'a RoaringBitmap,
    /// Subsets of the universe.
    sets: BTreeMap<u32, RoaringBitmap>,
    /// Sets not yet intersected with the universe: their union is intersected once.
    uncut: BTreeMap<u32, RoaringBitmap>,
    /// Sets as received, for costs that received a single set.
    shared: BTreeMap<u32, Arc<RoaringBitmap>>,
    one_by_one: FxHashMap<u32, Vec<u32>>,
}

impl<'a> CostLevelsBuilder<'a> {
    pub(super) fn new(universe: &'a RoaringBitmap) -> Self {
        Self {
            universe,
            sets: BTreeMap::new(),
            uncut: BTreeMap::new(),
            shared: BTreeMap::new(),
            one_by_one: FxHashMap::default(),
        }
    }

    pub(super) fn finish(mut self) -> CostLevels {
        for (cost, docs) in self.uncut {
            *self.sets.entry(cost).or_default() |= docs & self.universe;
        }
        for (cost, docids) in self.one_by_one {
            *self.sets.entry(cost).or_default() |= docids.into_iter().collect::<RoaringBitmap>();
        }
        let mut levels: BTreeMap<u32, Arc<RoaringBitmap>> =
            self.sets.into_iter().map(|(cost, docs)| (cost, Arc::new(docs))).collect();
        let are_within = self.shared.is_empty();
        for (cost, docs) in self.shared {
            match levels.get_mut(&cost) {
                Some(known) => *Arc::make_mut(known) |= &*docs,
                None => drop(levels.insert(cost, docs)),
            }
        }
        CostLevels { levels: levels.into_iter().collect(), are_within }
    }
}

impl CostSink for CostLevelsBuilder<'_> {
    fn one(&mut self, docid: u32, cost: u32) {
        self.one_by_one.entry(cost).or_default().push(docid);
    }

    fn all(&mut self, docs: &RoaringBitmap, cost: u32) {
        if docs.len() < self.universe.len() {
            *self.uncut.entry(cost).or_default() |= docs;
        } else {
            *self.sets.entry(cost).or_default() |= docs & self.universe;
        }
    }

    fn all_shared(&mut self, docs: &Arc<RoaringBitmap>, cost: u32) {
        match self.shared.get_mut(&cost) {
            Some(known) => *Arc::make_mut(known) |= &**docs,
            None => drop(self.shared.insert(cost, Arc::clone(docs))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn levels_hold_the_least_costs_of_the_universe(
            universe in btree_set(0u32..300, 0..80),
            sets in vec((btree_set(0u32..300, 0..120), 0u32..6, any::<bool>()), 0..8),
            ones in vec((0u32..300, 0u32..6), 0..20),
        ) {
            let universe: RoaringBitmap = universe.into_iter().collect();
            let mut builder = CostLevelsBuilder::new(&universe);
            let mut expected: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
            for (docs, cost, is_shared) in sets {
                let docs: RoaringBitmap = docs.into_iter().collect();
                if is_shared {
                    builder.all_shared(&Arc::new(docs.clone()), cost);
                } else {
                    builder.all(&docs, cost);
                }
                *expected.entry(cost).or_default() |= docs & &universe;
            }
            // Callers pass single documents of the universe only.
            for (docid, cost) in ones.into_iter().filter(|(docid, _)| universe.contains(*docid)) {
                builder.one(docid, cost);
                expected.entry(cost).or_default().insert(docid);
            }
            let CostLevels { levels, are_within } = builder.finish();
            prop_assert!(!are_within || levels.iter().all(|(_, docs)| docs.is_subset(&universe)));
            let levels: Vec<(u32, RoaringBitmap)> =
                levels.into_iter().map(|(cost, docs)| (cost, &*docs & &universe)).collect();
            prop_assert_eq!(levels, Vec::from_iter(expected));
        }
    }
}
