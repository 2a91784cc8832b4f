//! The interface of rules that charge for the steps of reading the query.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::sink::CostSink;
use crate::error::Result;
use crate::query::{QueryGraph, TermNode, TermResolver};
use crate::ranking::score::ScoreDetail;

/// The node cannot be read in this document.
pub(in crate::ranking) const NEVER: u32 = u32::MAX;

/// The largest limit: it includes every cost except [`NEVER`].
pub(in crate::ranking) const ALL: u32 = NEVER - 1;

/// A step of reading the query.
#[derive(Clone, Copy)]
pub(in crate::ranking) struct Step<'a> {
    /// The previous node; None at the start of the query.
    pub(in crate::ranking) from: Option<&'a TermNode>,
    /// The node to read.
    pub(in crate::ranking) to: &'a TermNode,
}

/// A ranking rule that charges documents for each step of reading the query. [`super::CostBuckets`] makes the buckets.
pub(in crate::ranking) trait CostRule {
    /// Passes to `sink` the documents of `universe` for which `step` costs at most `limit`. If a document gets several
    /// costs, the least one counts. A document without a cost cannot be read this way. Costs above the limit and
    /// documents outside the universe are allowed.
    fn charge(
        &self,
        resolver: &TermResolver,
        step: Step<'_>,
        universe: &RoaringBitmap,
        limit: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()>;

    /// Upper limit for the cost of `step`, even if no document reaches it.
    fn cost_max(&self, resolver: &TermResolver, step: Step<'_>) -> u32;

    /// The score detail of the bucket of `cost`. The most expensive reading of `graph` costs `cost_max`.
    fn detail(&self, resolver: &TermResolver, graph: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail;

    /// Narrows `node` to what later rules may read it as, after it was read at `cost`.
    fn narrowed(&self, node: &TermNode, _cost: u32) -> TermNode {
        node.clone()
    }

    /// Returns true if the cost of a step depends on the previous node.
    fn compares_neighbours(&self) -> bool {
        false
    }

    /// Returns all documents with a reading of `graph` that costs at most `limit`, or None if set algebra cannot find
    /// them.
    fn documents_within(
        &self,
        _resolver: &TermResolver,
        _graph: &QueryGraph,
        _limit: u32,
    ) -> Result<Option<Arc<RoaringBitmap>>> {
        Ok(None)
    }
}

/// The order in which nodes are skipped: nodes of a group together, group 1 first.
///
/// Skipping a node costs the number of query terms it covers. After it, no node of an earlier group may be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::ranking) struct Removal {
    /// By node. None: never skipped.
    pub(in crate::ranking) group: Vec<Option<usize>>,
}
