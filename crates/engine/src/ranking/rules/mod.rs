//! Lists the ranking rules of a search in their order.
//!
//! Each rule has its own file with a function `spec`, which is registered below. Source: search §6.4.

mod attribute_pairs;
mod attribute_rank;
mod exact_attribute;
mod exact_words;
mod geo;
mod proximity;
mod relevance;
mod sort;
mod typo;
mod vector;
mod word_position;
mod words;

use super::request::{MatchingStrategy, RankRequest, SortCriterion};
use super::rule::RuleSpec;
use crate::query::{QueryGraph, TermResolver};
use crate::store::Snapshot;
use crate::vector::Nearest;

/// Returns the rules of a search in the order of the index settings.
///
/// `resolver` holds the words of the query, None if it has none. A vector search has a single rule over vectors, in the
/// position of the first rule about words. Source: vectors §6.6.
pub(super) fn of_search<'a>(
    snapshot: &'a Snapshot,
    request: &'a RankRequest<'a>,
    resolver: Option<&'a TermResolver<'a>>,
    graph: &'a QueryGraph,
) -> Vec<RuleSpec<'a>> {
    if let Some(nearest) = request.vector.as_deref().filter(|_| request.only_by_vector) {
        return vec![by_vectors(request, nearest)];
    }
    let mut rules: Vec<RuleSpec<'a>> = Vec::new();
    for name in &snapshot.settings().ranking_rules {
        let specs = match (request.vector.as_deref(), resolver) {
            _ if !is_about_words(name) => by_values(snapshot, request, name),
            (Some(nearest), _) => vec![by_vectors(request, nearest)],
            (None, Some(resolver)) => about_words(resolver, graph, request, name),
            (None, None) => Vec::new(),
        };
        for spec in specs {
            if rules.iter().all(|rule| rule.key() != spec.key()) {
                rules.push(spec);
            }
        }
    }
    rules
}

fn is_about_words(name: &str) -> bool {
    matches!(
        name,
        "words"
            | "typo"
            | "proximity"
            | "attribute"
            | "attributeRank"
            | "wordPosition"
            | "exactness"
            | "relevance"
    )
}

/// Returns the rules that `name`, a rule about words, stands for. The rule `words` always comes before them. With the
/// matching strategy `any`, `relevance` stands for all of them.
fn about_words<'a>(
    resolver: &'a TermResolver<'a>,
    graph: &'a QueryGraph,
    request: &RankRequest,
    name: &str,
) -> Vec<RuleSpec<'a>> {
    let counted = match request.strategy {
        MatchingStrategy::Any => return vec![relevance::spec(resolver, graph)],
        MatchingStrategy::All => None,
        MatchingStrategy::Last | MatchingStrategy::Frequency => Some(words::spec(resolver, request.strategy)),
    };
    let rules = match name {
        "typo" => vec![typo::spec(resolver)],
        "proximity" => vec![proximity::spec(resolver)],
        "attributeRank" => vec![attribute_rank::spec(resolver, false)],
        "wordPosition" => vec![word_position::spec(resolver, false)],
        "attribute" => vec![attribute_rank::spec(resolver, true), word_position::spec(resolver, true)],
        "relevance" => vec![relevance::spec(resolver, graph)],
        "exactness" => vec![exact_attribute::spec(resolver), exact_words::spec(resolver)],
        _ => Vec::new(),
    };
    counted.into_iter().chain(rules).collect()
}

fn by_vectors<'a>(request: &RankRequest, nearest: &'a Nearest) -> RuleSpec<'a> {
    vector::spec(nearest, request.wanted, request.deadline.at())
}

/// Returns the rules for `sort`, which stands for the request's criteria, or for a custom rule such as `year:desc`.
fn by_values<'a>(snapshot: &'a Snapshot, request: &RankRequest, name: &str) -> Vec<RuleSpec<'a>> {
    let spec = |criterion: &SortCriterion| match criterion {
        SortCriterion::Field { path, ascending } => sort::spec(snapshot, path, *ascending),
        SortCriterion::Geo { origin, ascending } => geo::spec(snapshot, *origin, *ascending),
    };
    if name == "sort" {
        return request.sort.iter().map(spec).collect();
    }
    match name.rsplit_once(':') {
        Some((field, direction @ ("asc" | "desc"))) => vec![sort::spec(snapshot, field, direction == "asc")],
        _ => Vec::new(),
    }
}
