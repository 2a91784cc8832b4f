//! Stores what each step costs each of few documents.

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::rule::NEVER;
use super::sink::CostSink;
use crate::ranking::limits::LOOK_UPS_MAX;
use crate::store;

/// The documents of a table of costs, ascending by docid.
pub(super) struct CostTable<'a> {
    docids: Cow<'a, [u32]>,
    /// `docids` as a set.
    set: Cow<'a, RoaringBitmap>,
}

/// Documents with equal costs at every step.
pub(super) struct CostGroup {
    /// By step; [`NEVER`] where the step cannot be read in these documents.
    pub(super) costs: Vec<u32>,
    pub(super) docs: Arc<RoaringBitmap>,
}

/// The cost of a step for each document of a table, [`NEVER`] if none was recorded.
pub(super) struct CostColumn<'t> {
    table: &'t CostTable<'t>,
    costs: Vec<u32>,
    /// True if nothing was recorded yet.
    is_empty: bool,
    /// The last row recorded: documents mostly come in order.
    last: usize,
}

impl<'a> CostTable<'a> {
    pub(super) fn of(set: &'a RoaringBitmap) -> Self {
        Self { docids: Cow::Owned(store::ascending(set)), set: Cow::Borrowed(set) }
    }

    /// `docids` must ascend.
    pub(super) fn of_docids(docids: &'a [u32]) -> Self {
        Self { docids: Cow::Borrowed(docids), set: Cow::Owned(set_of(docids.iter().copied())) }
    }

    /// The documents.
    pub(super) fn set(&self) -> &RoaringBitmap {
        &self.set
    }

    /// Returns an empty column.
    pub(super) fn column(&self) -> CostColumn<'_> {
        CostColumn { table: self, costs: vec![NEVER; self.docids.len()], is_empty: true, last: 0 }
    }

    /// Returns the column of `levels`.
    pub(super) fn column_of(&self, levels: &[(u32, Arc<RoaringBitmap>)]) -> CostColumn<'_> {
        let mut column = self.column();
        levels.iter().for_each(|(cost, docs)| column.all(docs, *cost));
        column
    }

    /// Groups documents with the same costs in all `columns`.
    pub(super) fn groups(&self, columns: &[CostColumn<'_>]) -> Vec<CostGroup> {
        // Rows that are equal in the columns so far share a group; each column splits groups by its costs.
        let mut groups = vec![0u32; self.docids.len()];
        let mut examples = vec![0usize];
        let differing = columns.iter().map(|column| &column.costs).filter(|costs| !all_equal(costs));
        for costs in differing {
            let mut parts = Parts::new(examples.len(), costs);
            examples.clear();
            for (row, (group, &cost)) in groups.iter_mut().zip(costs).enumerate() {
                let part = parts.of(*group, cost);
                if *part == NONE {
                    *part = examples.len() as u32;
                    examples.push(row);
                }
                *group = *part;
            }
        }
        let costs_of = |&row: &usize| columns.iter().map(|column| column.costs[row]).collect();
        if let [only] = examples.as_slice() {
            return vec![CostGroup { costs: costs_of(only), docs: Arc::new(self.set.clone().into_owned()) }];
        }
        let mut docids: Vec<Vec<u32>> = vec![Vec::new(); examples.len()];
        for (&group, &docid) in groups.iter().zip(self.docids.iter()) {
            docids[group as usize].push(docid);
        }
        let group = |(row, docids): (&usize, Vec<u32>)| CostGroup {
            costs: costs_of(row),
            docs: Arc::new(set_of(docids)),
        };
        examples.iter().zip(docids).map(group).collect()
    }
}

impl CostSink for CostColumn<'_> {
    fn one(&mut self, docid: u32, cost: u32) {
        self.is_empty = false;
        let docids = &*self.table.docids;
        if docids.get(self.last) != Some(&docid) {
            let start =
                if docids.get(self.last).is_some_and(|last| *last < docid) { self.last + 1 } else { 0 };
            let Ok(after) = docids[start..].binary_search(&docid) else { return };
            self.last = start + after;
        }
        self.costs[self.last] = self.costs[self.last].min(cost);
    }

    fn all(&mut self, docs: &RoaringBitmap, cost: u32) {
        let is_first = std::mem::take(&mut self.is_empty);
        if self.costs.len() <= LOOK_UPS_MAX {
            for (&docid, least) in self.table.docids.iter().zip(&mut self.costs) {
                if *least > cost && docs.contains(docid) {
                    *least = cost;
                }
            }
            return;
        }
        if is_first && self.table.set.is_subset(docs) {
            self.costs.fill(cost);
            return;
        }
        let mut row = 0;
        for docid in store::ascending(&(docs & self.table.set())) {
            if self.table.docids[row] != docid {
                row += self.table.docids[row..].partition_point(|before| *before < docid);
            }
            self.costs[row] = self.costs[row].min(cost);
            row += 1;
        }
    }
}

/// No group yet.
const NONE: u32 = u32::MAX;

/// Maps a group and a cost to the part of the group with this cost.
enum Parts {
    /// By group, then by cost, [`NEVER`] last.
    Table { kinds: usize, parts: Vec<u32> },
    /// By group and cost.
    Map(FxHashMap<(u32, u32), u32>),
}

impl Parts {
    /// Prepares parts of `groups` groups by the costs that occur in `costs`.
    fn new(groups: usize, costs: &[u32]) -> Self {
        let dearest = costs.iter().filter(|cost| **cost != NEVER).max().map_or(0, |cost| *cost as usize);
        let kinds = dearest.saturating_add(2);
        match groups.checked_mul(kinds).filter(|cells| *cells <= PARTS_MAX) {
            Some(cells) => Self::Table { kinds, parts: vec![NONE; cells] },
            None => Self::Map(FxHashMap::default()),
        }
    }

    fn of(&mut self, group: u32, cost: u32) -> &mut u32 {
        match self {
            Self::Table { kinds, parts } => {
                &mut parts[group as usize * *kinds + (cost as usize).min(*kinds - 1)]
            }
            Self::Map(parts) => parts.entry((group, cost)).or_insert(NONE),
        }
    }
}

/// Largest number of cells of `Parts::Table`.
const PARTS_MAX: usize = 1 << 14;

fn all_equal(costs: &[u32]) -> bool {
    costs.iter().all(|cost| *cost == costs[0])
}

fn set_of(docids: impl IntoIterator<Item = u32>) -> RoaringBitmap {
    RoaringBitmap::from_sorted_iter(docids).expect("docids ascend")
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_document_costs_the_least_cost_recorded(
            rows in btree_set(0u32..400, 1..150),
            told in vec((0u32..40, btree_set(0u32..400, 0..60), any::<bool>()), 0..12),
        ) {
            let set: RoaringBitmap = rows.iter().collect();
            let table = CostTable::of(&set);
            let mut column = table.column();
            for (cost, docs, together) in &told {
                if *together {
                    column.all(&docs.iter().collect(), *cost);
                } else {
                    docs.iter().for_each(|docid| column.one(*docid, *cost));
                }
            }
            let least = |docid: &u32| {
                let of_it = told.iter().filter(|(_, docs, _)| docs.contains(docid));
                of_it.map(|(cost, _, _)| *cost).min().unwrap_or(NEVER)
            };
            prop_assert_eq!(column.costs, rows.iter().map(least).collect::<Vec<_>>());
        }
    }
}
