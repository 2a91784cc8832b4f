//! Fewer typos come first.

use roaring::RoaringBitmap;

use super::costs::CostRule;
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::partition::Levels;
use super::score::ScoreDetail;
use super::term::Classes;
use crate::error::Result;

/// A misspelt word costs its typos, a cut one costs one, joined ones cost their number.
/// Source: search-semantics §7.3.
pub(super) struct TypoRule;

/// Joining words is itself a misspelling, for each of them.
fn joining(node: &Node) -> u32 {
    if node.width() == 1 { 0 } else { node.width() }
}

impl CostRule for TypoRule {
    fn levels(
        &self,
        lexicon: &Lexicon,
        _: Option<&Node>,
        to: &Node,
        _: &RoaringBitmap,
        limit: u32,
    ) -> Result<Levels> {
        let levels = Classes::LEVELS.into_iter().zip(joining(to)..);
        let asked = levels.filter(|(level, cost)| to.classes.meets(*level) && *cost <= limit);
        asked.map(|(level, cost)| Ok((cost, lexicon.node_docs(&to.narrowed(level))?))).collect()
    }

    fn cost_max(&self, lexicon: &Lexicon, _: Option<&Node>, to: &Node) -> u32 {
        let term = lexicon.term(to);
        let forgiven = match term.budget {
            _ if term.phrase.is_some() => 0,
            // A word may be cut in two even where nothing is forgiven.
            0 => 1,
            budget => {
                let levels = Classes::LEVELS.into_iter().zip(0..).take(usize::from(budget) + 1);
                levels
                    .filter(|(level, _)| to.classes.meets(*level))
                    .map(|(_, typos)| typos)
                    .max()
                    .unwrap_or(0)
            }
        };
        joining(to) + forgiven
    }

    fn narrowed(&self, _: &Lexicon, node: &Node, cost: u32) -> Node {
        node.narrowed(Classes::LEVELS[(cost - joining(node)) as usize])
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        ScoreDetail::Typo { count: cost, max: cost_max }
    }
}
