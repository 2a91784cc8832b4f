//! Words closer to their place in the query come first.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::costs::CostRule;
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::partition::Levels;
use super::score::{Rank, ScoreDetail};
use crate::error::Result;

/// The second word of a query is expected to be the second of an attribute, and so on: a word costs by how
/// far its best place is off. Source: search-semantics §7.6.
pub(super) struct WordPositionRule {
    /// It is the second half of the rule `attribute`.
    pub(super) unified: bool,
}

/// What it costs at worst, per term.
const OFFSET_COST_MAX: u32 = 10;

/// Greatest offset of each cost.
const OFFSETS: [u32; OFFSET_COST_MAX as usize] = [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024];

fn offset_cost(offset: u32) -> u32 {
    OFFSETS.iter().take_while(|&&reach| reach < offset).count() as u32
}

/// `position` is bucketed.
fn cost(node: &Node, position: u32) -> u32 {
    let offset = position.abs_diff(*node.positions.start());
    (0..node.width()).map(|further| offset_cost(offset + further)).sum()
}

impl CostRule for WordPositionRule {
    fn levels(
        &self,
        lexicon: &Lexicon,
        _: Option<&Node>,
        to: &Node,
        universe: &RoaringBitmap,
        limit: u32,
    ) -> Result<Levels> {
        let mut levels: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        let cost = |position| Some(cost(to, position)).filter(|cost| *cost <= limit);
        lexicon.position_costs(to, universe, cost, |cost, docs| *levels.entry(cost).or_default() |= docs)?;
        Ok(levels.into_iter().map(|(cost, docs)| (cost, Arc::new(docs))).collect())
    }

    fn cost_max(&self, _: &Lexicon, _: Option<&Node>, to: &Node) -> u32 {
        OFFSET_COST_MAX * to.width()
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        let rank = Rank { rank: cost_max - cost + 1, max: cost_max + 1 };
        ScoreDetail::WordPosition { rank, unified: self.unified }
    }
}
