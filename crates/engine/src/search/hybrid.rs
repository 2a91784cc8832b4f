//! Merges hits by words and hits by vectors into one list.
//!
//! 1. If words fill the page with scores that vectors can hardly beat, the hits by words are the answer.
//! 2. Otherwise the first hits of both lists are compared by weighted scores; on a tie, the hit by vectors comes first.
//! 3. A document is listed once, at the better of its positions, with its score there.
//!
//! Source: vectors §6.7.

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use super::compare::{Value, compare};
use crate::error::Result;
use crate::facets::Columns;
use crate::ranking::{Ranked, RankedHit};
use crate::store::Snapshot;

/// If all hits by words reach this weighted score, vectors are not searched. Source: vectors §6.7.
const GOOD_ENOUGH: f64 = 0.45;

/// Returns true if hits by words fill a page of `wanted` hits well enough.
pub(super) fn words_suffice(by_words: &[RankedHit], wanted: usize, ratio: f64) -> bool {
    by_words.len() >= wanted
        && by_words[..wanted].iter().all(|hit| hit.score() * (1.0 - ratio) >= GOOD_ENOUGH)
}

/// A hit with the values that it is compared by.
struct Weighted {
    values: Vec<Value>,
    score: f64,
    hit: RankedHit,
}

impl Weighted {
    fn compare(&self, other: &Self) -> Ordering {
        compare(&self.values, &other.values, (self.score, other.score))
    }
}

/// Merges the first `wanted` hits, at most one per value of `distinct`. Also returns the documents taken from vectors.
pub(super) fn merge(
    snapshot: &Snapshot,
    by_words: Ranked,
    by_meaning: Ranked,
    ratio: f64,
    wanted: usize,
    distinct: Option<&str>,
) -> Result<(Ranked, RoaringBitmap)> {
    let mut distinct = distinct.map(|path| Columns::new(snapshot).distinct(path)).transpose()?;
    let all = &by_words.candidates | &by_meaning.candidates;
    let weighted = |hit: RankedHit, weight: f64| Weighted {
        values: Value::list(&hit.scores, weight),
        score: hit.score() * (weight * hit.scale()),
        hit,
    };
    let mut words = by_words.hits.into_iter().map(|hit| weighted(hit, 1.0 - ratio)).peekable();
    let mut meaning = by_meaning.hits.into_iter().map(|hit| weighted(hit, ratio)).peekable();
    let mut hits: Vec<RankedHit> = Vec::new();
    let mut semantic = RoaringBitmap::new();
    let (mut seen, mut excluded) = (RoaringBitmap::new(), RoaringBitmap::new());
    while hits.len() < wanted {
        let meaning_first = match (meaning.peek(), words.peek()) {
            (Some(left), Some(right)) => left.compare(right) != Ordering::Greater,
            (left, _) => left.is_some(),
        };
        let next = if meaning_first { meaning.next() } else { words.next() };
        let Some(Weighted { hit, .. }) = next else { break };
        if !seen.insert(hit.docid) || excluded.contains(hit.docid) {
            continue;
        }
        if let Some(distinct) = &mut distinct {
            excluded |= distinct.keep(&RoaringBitmap::from([hit.docid]), &all, 1)?.1;
        }
        if meaning_first {
            semantic.insert(hit.docid);
        }
        hits.push(hit);
    }
    let candidates = all - excluded;
    let degraded = by_words.degraded || by_meaning.degraded;
    Ok((Ranked { hits, candidates, degraded, ..by_words }, semantic))
}
