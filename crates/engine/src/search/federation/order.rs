//! Checks that the results of several queries can be compared. Source: operations §17.

use std::collections::HashSet;

use super::query::Query;
use crate::error::{Error, Result};
use crate::ranking::SortCriterion;

/// Rejects queries whose ranking rules cannot be compared.
pub(super) fn require_comparable(queries: &[Query]) -> Result<()> {
    let mut reference: Option<(usize, Vec<Kind>)> = None;
    for (at, query) in queries.iter().enumerate() {
        let kinds = kinds_of(query);
        if let Some((other, known)) = &reference
            && let Some((here, there)) = kinds.iter().zip(known).find(|(here, there)| here != there)
        {
            let message = format!(
                "the results of queries #{other} and #{at} cannot be merged: one orders by {}, the other by {}",
                there.text(),
                here.text()
            );
            return Err(Error::user("invalid_multi_search_query_ranking_rules", message));
        }
        // Compares the next query with the longest list so far, which checks the most entries.
        if reference.as_ref().is_none_or(|(_, known)| known.len() <= kinds.len()) {
            reference = Some((at, kinds));
        }
    }
    Ok(())
}

/// The kind of a criterion in the order of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Relevance,
    Field { ascending: bool },
    Geo { ascending: bool },
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Field { ascending: true } => "a field, ascending",
            Self::Field { ascending: false } => "a field, descending",
            Self::Geo { ascending: true } => "distance, ascending",
            Self::Geo { ascending: false } => "distance, descending",
        }
    }
}

/// Returns the kinds of a query's criteria, in order. Consecutive relevance rules count once. There are none without
/// words, and exactly one in a search by vectors only. A field counts at its first position.
fn kinds_of(query: &Query) -> Vec<Kind> {
    let rules = &query.search.snapshot.settings().ranking_rules;
    let only_meaning = query.found.only_meaning;
    let has_words = query.request.q.as_deref().is_some_and(|q| !q.is_empty());
    let mut kinds: Vec<Kind> = Vec::new();
    let mut fields: HashSet<&str> = HashSet::new();
    let mut has_geo = false;
    for rule in rules {
        match rule.rsplit_once(':') {
            Some((field, direction)) if fields.insert(field) => {
                kinds.push(Kind::Field { ascending: direction == "asc" });
            }
            Some(_) => {}
            None if rule == "sort" => {
                for criterion in &query.found.sort {
                    match criterion {
                        SortCriterion::Field { path, ascending } if fields.insert(path) => {
                            kinds.push(Kind::Field { ascending: *ascending });
                        }
                        SortCriterion::Geo { ascending, .. } if !has_geo => {
                            has_geo = true;
                            kinds.push(Kind::Geo { ascending: *ascending });
                        }
                        SortCriterion::Field { .. } | SortCriterion::Geo { .. } => {}
                    }
                }
            }
            None if only_meaning && kinds.contains(&Kind::Relevance) => {}
            None if !only_meaning && !has_words => {}
            None if kinds.last() == Some(&Kind::Relevance) => {}
            None => kinds.push(Kind::Relevance),
        }
    }
    kinds
}
