//! Prefers fewer typos.

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::{DerivationKinds, QueryGraph, TermNode, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Step};
use crate::ranking::rule::RuleSpec;
use crate::ranking::score::ScoreDetail;

/// A misspelt word costs its typos, a split word one, joined words their number.
/// Source: search §7.3.
struct TypoRule;

pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>) -> RuleSpec<'a> {
    RuleSpec::new("typo", |universe, graph| Ok(CostBuckets::new(TypoRule, resolver, graph, None, universe)))
}

/// Each joined word counts as a typo.
fn joining(node: &TermNode) -> u32 {
    if node.width() == 1 { 0 } else { node.width() }
}

impl CostRule for TypoRule {
    fn charge(
        &self,
        resolver: &TermResolver,
        Step { to, .. }: Step<'_>,
        _: &RoaringBitmap,
        limit: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        for (kinds, cost) in DerivationKinds::BY_TYPOS.into_iter().zip(joining(to)..) {
            if to.kinds.meets(kinds) && cost <= limit {
                sink.all_shared(&resolver.node_docs(&to.narrowed(kinds))?, cost);
            }
        }
        Ok(())
    }

    fn cost_max(&self, resolver: &TermResolver, Step { to, .. }: Step<'_>) -> u32 {
        let term = resolver.term(to);
        let forgiven = match term.budget {
            _ if term.phrase.is_some() => 0,
            // A word may be split in two even if no typo is allowed.
            0 => 1,
            budget => {
                let by_typos = DerivationKinds::BY_TYPOS.into_iter().zip(0..).take(usize::from(budget) + 1);
                let in_play = by_typos.filter(|(kinds, _)| to.kinds.meets(*kinds));
                in_play.map(|(_, typos)| typos).max().unwrap_or(0)
            }
        };
        joining(to) + forgiven
    }

    fn narrowed(&self, node: &TermNode, cost: u32) -> TermNode {
        node.narrowed(DerivationKinds::BY_TYPOS[(cost - joining(node)) as usize])
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        ScoreDetail::Typo { count: cost, max: cost_max }
    }
}
