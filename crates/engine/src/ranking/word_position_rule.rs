//! Words closer to their place in the query come first.

use roaring::RoaringBitmap;

use super::costs::{CostRule, NEVER};
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::partition::{GatheredLevels, Levels};
use super::rows::{Column, Prices, Rows};
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

impl WordPositionRule {
    /// Says what reading `node` costs the documents of `universe` for which that is at most `limit`.
    fn say(
        lexicon: &Lexicon,
        node: &Node,
        universe: &RoaringBitmap,
        limit: u32,
        prices: &mut impl Prices,
    ) -> Result<()> {
        let cost = |position| Some(cost(node, position)).filter(|cost| *cost <= limit);
        lexicon.position_costs(node, universe, cost, prices)
    }
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
        let mut prices = GatheredLevels::of(universe);
        Self::say(lexicon, to, universe, limit, &mut prices)?;
        Ok(prices.into_levels())
    }

    fn levels_are_within(&self, _: &Lexicon) -> bool {
        true
    }

    fn column<'r>(
        &self,
        lexicon: &Lexicon,
        _: Option<&Node>,
        to: &Node,
        rows: &'r Rows<'r>,
    ) -> Result<Column<'r>> {
        let mut column = rows.column();
        Self::say(lexicon, to, rows.set(), NEVER, &mut column)?;
        Ok(column)
    }

    fn cost_max(&self, _: &Lexicon, _: Option<&Node>, to: &Node) -> u32 {
        OFFSET_COST_MAX * to.width()
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        let rank = Rank { rank: cost_max - cost + 1, max: cost_max + 1 };
        ScoreDetail::WordPosition { rank, unified: self.unified }
    }
}
