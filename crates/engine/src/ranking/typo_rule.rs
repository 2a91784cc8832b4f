//! Fewer typos come first.

use super::costs::{CostRule, Rows};
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
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
    fn costs(&self, lexicon: &Lexicon, _: Option<&Node>, to: &Node, rows: &Rows) -> Result<Vec<u32>> {
        let mut column = rows.column(&*lexicon.node_docs(&to.narrowed(Classes::LEVELS[0]))?, joining(to));
        for (level, typos) in Classes::LEVELS.into_iter().zip(0..).skip(1) {
            if to.classes.meets(level) {
                rows.lower(&mut column, &*lexicon.node_docs(&to.narrowed(level))?, joining(to) + typos);
            }
        }
        Ok(column)
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
