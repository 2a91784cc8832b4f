//! Few documents, laid out one by one: what does each step cost each of them?

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::costs::NEVER;
use super::limits::LOOK_UPS_MAX;
use super::partition::Class;
use crate::store;

/// Documents in rows, ascending.
pub(super) struct Rows<'a> {
    docids: Cow<'a, [u32]>,
    /// The same.
    set: Cow<'a, RoaringBitmap>,
}

/// Where it is said what documents cost; the least counts.
pub(super) trait Prices {
    /// A document costs `cost` or less; it may be one that nobody asks about.
    fn one(&mut self, docid: u32, cost: u32);

    /// So do all of these. Cheap ones are best said first.
    fn all(&mut self, docs: &RoaringBitmap, cost: u32);
}

/// What a step costs each row, [`NEVER`] if nothing was said.
pub(super) struct Column<'r> {
    rows: &'r Rows<'r>,
    costs: Vec<u32>,
    /// The row that was last spoken of: documents mostly come in order.
    last: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn of(set: &'a RoaringBitmap) -> Self {
        Self { docids: Cow::Owned(store::ascending(set)), set: Cow::Borrowed(set) }
    }

    /// `docids` ascend.
    pub(super) fn of_docids(docids: &'a [u32]) -> Self {
        Self { docids: Cow::Borrowed(docids), set: Cow::Owned(set_of(docids.iter().copied())) }
    }

    /// The documents.
    pub(super) fn set(&self) -> &RoaringBitmap {
        &self.set
    }

    /// A column of which nothing was said.
    pub(super) fn column(&self) -> Column<'_> {
        Column { rows: self, costs: vec![NEVER; self.docids.len()], last: 0 }
    }

    /// The column of these levels.
    pub(super) fn column_of(&self, levels: &[(u32, impl AsRef<RoaringBitmap>)]) -> Column<'_> {
        let mut column = self.column();
        if let [(cost, only)] = levels
            && self.docids.len() > LOOK_UPS_MAX
            && self.set.is_subset(only.as_ref())
        {
            column.costs.fill(*cost);
            return column;
        }
        for (cost, docs) in levels {
            column.all(docs.as_ref(), *cost);
        }
        column
    }

    /// Documents with the same costs in all `columns`.
    pub(super) fn classes(&self, columns: &[Column<'_>]) -> Vec<Class> {
        // Rows equal in the columns so far share a class; a column splits classes by its costs.
        let mut classes = vec![0u32; self.docids.len()];
        let mut examples = vec![0usize];
        let differing = columns.iter().map(|column| &column.costs).filter(|costs| !all_equal(costs));
        for costs in differing {
            let mut parts = Parts::new(examples.len(), costs);
            examples.clear();
            for (row, (class, &cost)) in classes.iter_mut().zip(costs).enumerate() {
                let part = parts.of(*class, cost);
                if *part == NONE {
                    *part = examples.len() as u32;
                    examples.push(row);
                }
                *class = *part;
            }
        }
        let costs_of = |&row: &usize| columns.iter().map(|column| column.costs[row]).collect();
        if let [only] = examples.as_slice() {
            return vec![Class { costs: costs_of(only), docs: Arc::new(self.set.clone().into_owned()) }];
        }
        let mut docids: Vec<Vec<u32>> = vec![Vec::new(); examples.len()];
        for (&class, &docid) in classes.iter().zip(self.docids.iter()) {
            docids[class as usize].push(docid);
        }
        let class = |(row, docids): (&usize, Vec<u32>)| Class {
            costs: costs_of(row),
            docs: Arc::new(set_of(docids)),
        };
        examples.iter().zip(docids).map(class).collect()
    }
}

impl Prices for Column<'_> {
    fn one(&mut self, docid: u32, cost: u32) {
        let docids = &*self.rows.docids;
        if docids.get(self.last) != Some(&docid) {
            let start =
                if docids.get(self.last).is_some_and(|last| *last < docid) { self.last + 1 } else { 0 };
            let Ok(after) = docids[start..].binary_search(&docid) else { return };
            self.last = start + after;
        }
        self.costs[self.last] = self.costs[self.last].min(cost);
    }

    fn all(&mut self, docs: &RoaringBitmap, cost: u32) {
        if self.costs.len() <= LOOK_UPS_MAX {
            for (&docid, least) in self.rows.docids.iter().zip(&mut self.costs) {
                if *least > cost && docs.contains(docid) {
                    *least = cost;
                }
            }
            return;
        }
        let mut row = 0;
        for docid in store::ascending(&(docs & self.rows.set())) {
            if self.rows.docids[row] != docid {
                row += self.rows.docids[row..].partition_point(|before| *before < docid);
            }
            self.costs[row] = self.costs[row].min(cost);
            row += 1;
        }
    }
}

/// Not a class.
const NONE: u32 = u32::MAX;

/// Which part of a class costs what.
enum Parts {
    /// Class by class, cost by cost, [`NEVER`] last.
    Table { kinds: usize, parts: Vec<u32> },
    /// By class and cost.
    Map(FxHashMap<(u32, u32), u32>),
}

impl Parts {
    /// Of so many classes by these costs.
    fn new(classes: usize, costs: &[u32]) -> Self {
        let dearest = costs.iter().filter(|cost| **cost != NEVER).max().map_or(0, |cost| *cost as usize);
        let kinds = dearest.saturating_add(2);
        match classes.checked_mul(kinds).filter(|places| *places <= PARTS_MAX) {
            Some(places) => Self::Table { kinds, parts: vec![NONE; places] },
            None => Self::Map(FxHashMap::default()),
        }
    }

    fn of(&mut self, class: u32, cost: u32) -> &mut u32 {
        match self {
            Self::Table { kinds, parts } => {
                &mut parts[class as usize * *kinds + (cost as usize).min(*kinds - 1)]
            }
            Self::Map(parts) => parts.entry((class, cost)).or_insert(NONE),
        }
    }
}

/// Places of a table, at most.
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
        fn a_document_costs_the_least_that_was_said(
            rows in btree_set(0u32..400, 1..150),
            said in vec((0u32..40, btree_set(0u32..400, 0..60), any::<bool>()), 0..12),
        ) {
            let set: RoaringBitmap = rows.iter().collect();
            let rows_of_set = Rows::of(&set);
            let mut column = rows_of_set.column();
            for (cost, docs, together) in &said {
                if *together {
                    column.all(&docs.iter().collect(), *cost);
                } else {
                    docs.iter().for_each(|docid| column.one(*docid, *cost));
                }
            }
            let least = |docid: &u32| {
                let of_it = said.iter().filter(|(_, docs, _)| docs.contains(docid));
                of_it.map(|(cost, _, _)| *cost).min().unwrap_or(NEVER)
            };
            prop_assert_eq!(column.costs, rows.iter().map(least).collect::<Vec<_>>());
        }
    }
}
