//! More words written just as asked come first.

use roaring::RoaringBitmap;

use super::costs::CostRule;
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::partition::Levels;
use super::score::ScoreDetail;
use super::term::Classes;
use crate::error::Result;

/// The second half of exactness: a word that is there as it was asked for costs nothing, another one for
/// each term it covers. Source: search-semantics §7.7.
pub(super) struct ExactWordsRule;

impl CostRule for ExactWordsRule {
    fn levels(
        &self,
        lexicon: &Lexicon,
        _: Option<&Node>,
        to: &Node,
        _: &RoaringBitmap,
        _: u32,
    ) -> Result<Levels> {
        let mut levels = Levels::new();
        if lexicon.term(to).has_exact_form() && to.classes.meets(Classes::EXACT) {
            levels.push((0, lexicon.node_docs(&to.narrowed(Classes::EXACT))?));
        }
        levels.push((to.width(), lexicon.node_docs(to)?));
        Ok(levels)
    }

    fn cost_max(&self, _: &Lexicon, _: Option<&Node>, to: &Node) -> u32 {
        to.width()
    }

    fn narrowed(&self, _: &Lexicon, node: &Node, cost: u32) -> Node {
        if cost == 0 { node.narrowed(Classes::EXACT) } else { node.clone() }
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        ScoreDetail::ExactWords { matching: cost_max - cost, max: cost_max }
    }
}
