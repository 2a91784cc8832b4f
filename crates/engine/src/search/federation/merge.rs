//! Lists in order → one list in order, each document once.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::compare::{Value, compare};
use super::Query;
use crate::error::Result;
use crate::facets::{Columns, Value as ColumnValue};
use crate::ranking::RankedHit;

/// A hit, and what it is compared by.
pub(super) struct Candidate<'q> {
    /// Which query found it.
    pub query: usize,
    pub hit: &'q RankedHit,
    pub values: Vec<Value>,
    /// Over all, weighted.
    pub score: f64,
    /// What `distinct` tells it apart by.
    pub distinct: Vec<DistinctValue>,
}

/// A value that hits share or not, across indexes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum DistinctValue {
    /// Bits of the number, zero without its sign.
    Number(u64),
    /// As compared.
    Text(String),
}

/// The first `wanted` hits of all queries, and hits that `distinct` left out: (query, docid).
pub(super) struct Merged<'q> {
    pub hits: Vec<Candidate<'q>>,
    pub dropped: Vec<(usize, u32)>,
}

/// Merges what `queries` found. `weights` by query; `distinct`: at most one hit per value of it.
pub(super) fn merge<'q>(
    queries: &'q [Query<'_>],
    weights: &[f64],
    distinct: Option<&str>,
    wanted: usize,
) -> Result<Merged<'q>> {
    let mut lists: Vec<_> = queries.iter().map(|query| query.reachable().iter()).collect();
    let mut heads: Vec<Option<Candidate>> = Vec::with_capacity(queries.len());
    let candidate = |query: usize, hit: &'q RankedHit| {
        let weight = weights.get(query).copied().unwrap_or(1.0);
        let values = Value::list(&hit.scores, weight);
        Candidate { query, hit, values, score: hit.score() * weight, distinct: Vec::new() }
    };
    for (at, list) in lists.iter_mut().enumerate() {
        heads.push(list.next().map(|hit| candidate(at, hit)));
    }
    let mut seen = HashSet::new();
    let mut taken = HashSet::new();
    let mut merged = Merged { hits: Vec::new(), dropped: Vec::new() };
    while merged.hits.len() < wanted {
        let Some(at) = first(&heads) else { break };
        let next = lists[at].next().map(|hit| candidate(at, hit));
        let Some(mut best) = std::mem::replace(&mut heads[at], next) else { break };
        if !seen.insert((queries[at].search.index.as_str(), best.hit.docid)) {
            continue;
        }
        if let Some(path) = distinct {
            best.distinct = distinct_values(&queries[at], path, best.hit.docid)?;
            if best.distinct.iter().any(|value| taken.contains(value)) {
                merged.dropped.push((at, best.hit.docid));
                continue;
            }
            taken.extend(best.distinct.iter().cloned());
        }
        merged.hits.push(best);
    }
    Ok(merged)
}

/// The list whose head comes first; equal heads: the earlier query's.
fn first(heads: &[Option<Candidate>]) -> Option<usize> {
    let mut best: Option<&Candidate> = None;
    for head in heads.iter().flatten() {
        let is_better = best.is_none_or(|best| {
            compare(&head.values, &best.values, (head.score, best.score)) == Ordering::Less
        });
        if is_better {
            best = Some(head);
        }
    }
    best.map(|best| best.query)
}

fn distinct_values(query: &Query, path: &str, docid: u32) -> Result<Vec<DistinctValue>> {
    let values = Columns::new(&query.search.snapshot).values(path, docid)?;
    Ok(values
        .into_iter()
        .map(|value| match value {
            // Adding zero takes the sign off a negative one.
            ColumnValue::Number(number) => DistinctValue::Number((number + 0.0).to_bits()),
            ColumnValue::String { normalised, .. } => DistinctValue::Text(normalised),
        })
        .collect())
}
