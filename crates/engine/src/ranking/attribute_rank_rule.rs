//! More important attributes come first.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::costs::CostRule;
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::partition::Levels;
use super::score::{Rank, ScoreDetail};
use crate::error::Result;

/// A word costs the weight of the best attribute it was found in, for each term it covers. Words may be in
/// different attributes. Source: search-semantics §7.5.
pub(super) struct AttributeRankRule {
    /// It is the first half of the rule `attribute`.
    pub(super) unified: bool,
}

impl CostRule for AttributeRankRule {
    fn levels(
        &self,
        lexicon: &Lexicon,
        _: Option<&Node>,
        to: &Node,
        universe: &RoaringBitmap,
        _: u32,
    ) -> Result<Levels> {
        let searchable = lexicon.postings.searchable();
        if searchable.weight_max() == 0 {
            return Ok(vec![(0, lexicon.node_docs(to)?)]);
        }
        let mut levels: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        lexicon.visit_fields(to, universe, |field, docs| {
            let weight = u32::from(searchable.weight(field).unwrap_or(searchable.weight_max()));
            *levels.entry(weight * to.width()).or_default() |= docs;
        })?;
        Ok(levels.into_iter().map(|(cost, docs)| (cost, Arc::new(docs))).collect())
    }

    fn levels_are_within(&self, lexicon: &Lexicon) -> bool {
        lexicon.postings.searchable().weight_max() > 0
    }

    fn cost_max(&self, lexicon: &Lexicon, _: Option<&Node>, to: &Node) -> u32 {
        u32::from(lexicon.postings.searchable().weight_max()) * to.width()
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        let rank = Rank { rank: cost_max - cost + 1, max: cost_max + 1 };
        ScoreDetail::AttributeRank { rank, unified: self.unified }
    }
}
