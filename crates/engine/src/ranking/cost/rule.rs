//! What does a rule charge documents for reading the query one way?

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::sink::CostSink;
use crate::error::Result;
use crate::query::{QueryGraph, TermNode, TermResolver};
use crate::ranking::score::ScoreDetail;

/// The node cannot be read in this document.
pub(in crate::ranking) const NEVER: u32 = u32::MAX;

/// A limit that no cost exceeds but [`NEVER`].
pub(in crate::ranking) const ALL: u32 = NEVER - 1;

/// One step of reading the query.
#[derive(Clone, Copy)]
pub(in crate::ranking) struct Step<'a> {
    /// The node read before; None at the start of the query.
    pub(in crate::ranking) from: Option<&'a TermNode>,
    /// The node that is read.
    pub(in crate::ranking) to: &'a TermNode,
}

/// A ranking rule that charges documents for each step of reading the query; [`super::CostBuckets`] makes buckets of it.
pub(in crate::ranking) trait CostRule {
    /// Tells `sink` what `step` costs the documents of `universe` that it costs at most `limit`. The least cost told of
    /// a document counts; a document that is not mentioned cannot be read so. Mentioning dearer documents or documents
    /// outside the universe does no harm.
    fn charge(
        &self,
        resolver: &TermResolver,
        step: Step<'_>,
        universe: &RoaringBitmap,
        limit: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()>;

    /// The most that `step` could cost, whether or not it costs any document so much.
    fn cost_max(&self, resolver: &TermResolver, step: Step<'_>) -> u32;

    /// What the bucket of `cost` says, where the dearest way of reading `graph` costs `cost_max`.
    fn detail(&self, resolver: &TermResolver, graph: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail;

    /// What later rules may still read `node` as, once it was read at `cost`.
    fn narrowed(&self, node: &TermNode, _cost: u32) -> TermNode {
        node.clone()
    }

    /// Whether the cost of a step depends on the node before it.
    fn compares_neighbours(&self) -> bool {
        false
    }

    /// All documents that some way of reading `graph` costs at most `limit`, if set algebra alone tells them.
    fn documents_within(
        &self,
        _resolver: &TermResolver,
        _graph: &QueryGraph,
        _limit: u32,
    ) -> Result<Option<Arc<RoaringBitmap>>> {
        Ok(None)
    }
}

/// The order in which nodes are given up: those of one group together, group 1 first.
///
/// Passing a node over costs as many as the query terms it covers, and forbids reading one of an earlier
/// group further on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::ranking) struct Removal {
    /// By node; None: never given up.
    pub(in crate::ranking) group: Vec<Option<usize>>,
}
