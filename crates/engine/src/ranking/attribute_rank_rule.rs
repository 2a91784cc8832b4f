//! More important attributes come first.

use super::costs::{CostRule, Rows};
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::score::{Rank, ScoreDetail};
use crate::error::Result;

/// A word costs the weight of the best attribute it was found in, for each term it covers. Words may be in
/// different attributes. Source: search-semantics §7.5.
pub(super) struct AttributeRankRule {
    /// It is the first half of the rule `attribute`.
    pub(super) unified: bool,
}

impl CostRule for AttributeRankRule {
    fn costs(&self, lexicon: &Lexicon, _: Option<&Node>, to: &Node, rows: &Rows) -> Result<Vec<u32>> {
        let searchable = lexicon.postings.searchable();
        if searchable.weight_max() == 0 {
            return Ok(rows.column(&*lexicon.node_docs(to)?, 0));
        }
        let mut column = rows.column(&roaring::RoaringBitmap::new(), 0);
        lexicon.visit_fields(to, rows.set(), |field, docs| {
            let weight = u32::from(searchable.weight(field).unwrap_or(searchable.weight_max()));
            rows.lower(&mut column, &docs, weight * to.width());
        })?;
        Ok(column)
    }

    fn cost_max(&self, lexicon: &Lexicon, _: Option<&Node>, to: &Node) -> u32 {
        u32::from(lexicon.postings.searchable().weight_max()) * to.width()
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        let rank = Rank { rank: cost_max - cost + 1, max: cost_max + 1 };
        ScoreDetail::AttributeRank { rank, unified: self.unified }
    }
}
