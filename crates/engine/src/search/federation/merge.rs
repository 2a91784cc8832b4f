//! Merges ranked lists into one that contains each document once.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::query::Query;
use crate::error::Result;
use crate::facets::{Columns, Value as ColumnValue};
use crate::ranking::RankedHit;
use crate::search::compare::{Value, compare};
use crate::search::interleave::Interleave;
use crate::search::pins::{is_pinned, position};

/// A hit with the values that it is compared by.
pub(super) struct Candidate<'q> {
    /// Index of the query that found it.
    pub query: usize,
    pub hit: &'q RankedHit,
    pub values: Vec<Value>,
    /// The weighted overall score.
    pub score: f64,
    /// Its values of the distinct attribute.
    pub distinct: Vec<DistinctValue>,
}

/// A value of the distinct attribute, comparable across indexes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum DistinctValue {
    /// The bits of a number; minus zero becomes zero.
    Number(u64),
    /// A normalised string.
    Text(String),
}

/// The first `wanted` hits of all queries, and the hits that `distinct` excludes as query and docid.
pub(super) struct Merged<'q> {
    pub hits: Vec<Candidate<'q>>,
    pub dropped: Vec<(usize, u32)>,
}

/// Merges the hits of `queries`. `weights`: by query. `distinct`: attribute with at most one hit per value.
pub(super) fn merge<'q>(
    queries: &'q [Query<'_>],
    weights: &[f64],
    distinct: Option<&str>,
    wanted: usize,
) -> Result<Merged<'q>> {
    let mut merging = Merging { queries, distinct, seen: HashSet::new(), taken: HashSet::new() };
    let candidate = |query: usize, hit: &'q RankedHit| {
        let weight = weights.get(query).copied().unwrap_or(1.0);
        let values = Value::list(&hit.scores, weight);
        Candidate { query, hit, values, score: hit.score() * (weight * hit.scale()), distinct: Vec::new() }
    };
    let mut dropped = Vec::new();
    let mut pins = Vec::new();
    for (at, query) in queries.iter().enumerate() {
        for hit in query.reachable().iter().filter(|hit| is_pinned(hit)) {
            pins.extend(merging.admit(candidate(at, hit), &mut dropped)?);
        }
    }
    pins.sort_by_key(|pin: &Candidate| position(pin.hit));

    let organic = |query: &'q Query<'_>| query.reachable().iter().filter(|hit| !is_pinned(hit));
    let mut lists: Vec<_> = queries.iter().map(organic).collect();
    let heads = lists.iter_mut().enumerate();
    let mut heads: Vec<Option<Candidate>> =
        heads.map(|(at, list)| list.next().map(|hit| candidate(at, hit))).collect();
    let mut hits = Vec::new();
    while hits.len() < wanted {
        let Some(at) = first(&heads) else { break };
        let next = lists[at].next().map(|hit| candidate(at, hit));
        if let Some(best) = std::mem::replace(&mut heads[at], next) {
            hits.extend(merging.admit(best, &mut dropped)?);
        }
    }
    let hits = Interleave::new(pins, hits.into_iter(), |pin| position(pin.hit)).take(wanted).collect();
    Ok(Merged { hits, dropped })
}

/// The documents and distinct values merged so far.
struct Merging<'a, 'q> {
    queries: &'q [Query<'q>],
    distinct: Option<&'a str>,
    seen: HashSet<(&'q str, u32)>,
    taken: HashSet<DistinctValue>,
}

impl<'q> Merging<'_, 'q> {
    /// Returns the hit, unless its document or one of its distinct values is in the list already.
    fn admit(
        &mut self,
        mut candidate: Candidate<'q>,
        dropped: &mut Vec<(usize, u32)>,
    ) -> Result<Option<Candidate<'q>>> {
        let (query, docid) = (&self.queries[candidate.query], candidate.hit.docid);
        if !self.seen.insert((query.search.index.as_str(), docid)) {
            return Ok(None);
        }
        if let Some(path) = self.distinct {
            candidate.distinct = distinct_values(query, path, docid)?;
            if candidate.distinct.iter().any(|value| self.taken.contains(value)) {
                dropped.push((candidate.query, docid));
                return Ok(None);
            }
            self.taken.extend(candidate.distinct.iter().cloned());
        }
        Ok(Some(candidate))
    }
}

/// Returns the query with the best first hit; on a tie, the earlier query.
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
            // Adding zero turns minus zero into zero.
            ColumnValue::Number(number) => DistinctValue::Number((number + 0.0).to_bits()),
            ColumnValue::String { normalised, .. } => DistinctValue::Text(normalised),
        })
        .collect())
}
