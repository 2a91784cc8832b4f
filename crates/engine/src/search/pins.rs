//! Documents that have a place of their own on the page, whatever their rank.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::interleave::Interleave;
use super::request::Pin;
use crate::error::Result;
use crate::facets::Columns;
use crate::ranking::{Ranked, RankedHit, ScoreDetail};
use crate::store::Snapshot;

/// The pins of a request whose documents are there and pass its filter.
pub(super) struct Pins {
    /// By position; of equal ones the first asked for comes first.
    hits: Vec<RankedHit>,
}

impl Pins {
    /// Takes the pinned documents out of `universe`, and with `distinct` those that share a value with one.
    pub fn take(
        snapshot: &Snapshot,
        pins: &[Pin],
        distinct: Option<&str>,
        universe: &mut Arc<RoaringBitmap>,
    ) -> Result<Self> {
        let mut hits = Vec::new();
        let mut sharing = RoaringBitmap::new();
        for pin in pins {
            let Some(docid) = snapshot.docid_of(&pin.id)? else { continue };
            if universe.contains(docid) {
                Arc::make_mut(universe).remove(docid);
                hits.push(RankedHit { docid, scores: vec![ScoreDetail::Pin { position: pin.position }] });
                if let Some(path) = distinct {
                    // Asked anew for each: pinned documents do not shut each other out.
                    let pinned = RoaringBitmap::from_iter([docid]);
                    sharing |= Columns::new(snapshot).distinct(path)?.keep(&pinned, universe, 1)?.1;
                }
            }
        }
        if !sharing.is_empty() {
            *Arc::make_mut(universe) -= sharing;
        }
        hits.sort_by_key(position);
        Ok(Self { hits })
    }

    /// Puts the pinned documents where they belong among the first `wanted` hits.
    pub fn place(self, ranked: &mut Ranked, wanted: usize) {
        if self.hits.is_empty() {
            return;
        }
        ranked.candidates.extend(self.hits.iter().map(|hit| hit.docid));
        let organic = std::mem::take(&mut ranked.hits).into_iter();
        let mut interleaved = Interleave::new(self.hits, organic, position);
        ranked.hits = interleaved.by_ref().take(wanted).collect();
    }
}

/// Where a hit is pinned; 0 if it is not.
pub(super) fn position(hit: &RankedHit) -> u32 {
    match hit.scores.first() {
        Some(ScoreDetail::Pin { position }) => *position,
        _ => 0,
    }
}

/// Whether a hit has its place from a rule.
pub(super) fn is_pinned(hit: &RankedHit) -> bool {
    matches!(hit.scores.first(), Some(ScoreDetail::Pin { .. }))
}
