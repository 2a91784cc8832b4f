//! Prefers matches in more important attributes.

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::{QueryGraph, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Step};
use crate::ranking::rule::RuleSpec;
use crate::ranking::score::{Rank, ScoreDetail};

/// A word costs the weight of the best attribute it was found in, once per term it covers. Words may match in different
/// attributes. Source: search §7.5.
struct AttributeRankRule {
    /// True if it is the first half of the rule `attribute`.
    unified: bool,
}

/// `unified`: see [`AttributeRankRule::unified`].
pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>, unified: bool) -> RuleSpec<'a> {
    RuleSpec::new(format!("attributeRank, unified: {unified}"), move |universe, graph| {
        Ok(CostBuckets::new(AttributeRankRule { unified }, resolver, graph, None, universe))
    })
}

impl CostRule for AttributeRankRule {
    fn charge(
        &self,
        resolver: &TermResolver,
        Step { to, .. }: Step<'_>,
        _: &RoaringBitmap,
        _: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        let searchable = resolver.postings.searchable();
        if searchable.weight_max() == 0 {
            sink.all_shared(&resolver.node_docs(to)?, 0);
            return Ok(());
        }
        resolver.visit_fields(to, |field, docs| {
            let weight = u32::from(searchable.weight(field).unwrap_or(searchable.weight_max()));
            sink.all(docs, weight * to.width());
        })
    }

    fn cost_max(&self, resolver: &TermResolver, Step { to, .. }: Step<'_>) -> u32 {
        u32::from(resolver.postings.searchable().weight_max()) * to.width()
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        let rank = Rank { rank: cost_max - cost + 1, max: cost_max + 1 };
        ScoreDetail::AttributeRank { rank, unified: self.unified }
    }
}
