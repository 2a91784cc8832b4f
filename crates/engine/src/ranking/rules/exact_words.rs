//! Prefers more words that match exactly as written.

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::{DerivationKinds, QueryGraph, TermNode, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Step};
use crate::ranking::rule::RuleSpec;
use crate::ranking::score::ScoreDetail;

/// The second half of exactness: a word that occurs as written costs nothing, another derivation one per term it
/// covers. Source: search §7.7.
struct ExactWordsRule<'a> {
    resolver: &'a TermResolver<'a>,
}

pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>) -> RuleSpec<'a> {
    RuleSpec::new("exactWords", move |universe, graph| {
        Ok(CostBuckets::new(ExactWordsRule { resolver }, resolver, graph, None, universe))
    })
}

impl CostRule for ExactWordsRule<'_> {
    fn charge(
        &self,
        resolver: &TermResolver,
        Step { to, .. }: Step<'_>,
        _: &RoaringBitmap,
        _: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        if resolver.term(to).has_exact_form() && to.kinds.meets(DerivationKinds::EXACT) {
            sink.all_shared(&resolver.node_docs(&to.narrowed(DerivationKinds::EXACT))?, 0);
        }
        sink.all_shared(&resolver.node_docs(to)?, to.width());
        Ok(())
    }

    fn cost_max(&self, _: &TermResolver, Step { to, .. }: Step<'_>) -> u32 {
        to.width()
    }

    fn narrowed(&self, node: &TermNode, cost: u32) -> TermNode {
        if cost > 0 {
            return node.clone();
        }
        // A short prefix is looked up as a unit, so its exact word always comes with its completions.
        let term = self.resolver.term(node);
        let completes = term.completes_by_prefix() && term.exact().is_some();
        let completions = if completes { DerivationKinds::PREFIX } else { DerivationKinds::NONE };
        node.narrowed(DerivationKinds::EXACT.or(completions))
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        ScoreDetail::ExactWords { matching: cost_max - cost, max: cost_max }
    }
}
