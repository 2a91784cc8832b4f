//! Places pinned documents among ranked hits.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::interleave::Interleave;
use super::request::Pin;
use crate::error::Result;
use crate::facets::Columns;
use crate::ranking::{Ranked, RankedHit, ScoreDetail};
use crate::store::Snapshot;

/// The pins of a request whose documents exist and pass its filter.
pub(super) struct Pins {
    /// By position; pins of the same position are in the order of the request.
    hits: Vec<RankedHit>,
}

impl Pins {
    /// Removes the pinned documents from `universe`; with `distinct`, also documents that share a value with a pinned
    /// document.
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
                    // A separate `Distinct` for each pin: pinned documents do not exclude each other.
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

    /// Inserts the pinned documents at their positions among the first `wanted` hits.
    pub fn insert_into(self, ranked: &mut Ranked, wanted: usize) {
        if self.hits.is_empty() {
            return;
        }
        ranked.candidates.extend(self.hits.iter().map(|hit| hit.docid));
        let organic = std::mem::take(&mut ranked.hits).into_iter();
        let mut interleaved = Interleave::new(self.hits, organic, position);
        ranked.hits = interleaved.by_ref().take(wanted).collect();
    }
}

/// The position of a pinned hit; 0 for other hits.
pub(super) fn position(hit: &RankedHit) -> u32 {
    match hit.scores.first() {
        Some(ScoreDetail::Pin { position }) => *position,
        _ => 0,
    }
}

/// Returns true if a hit is pinned.
pub(super) fn is_pinned(hit: &RankedHit) -> bool {
    matches!(hit.scores.first(), Some(ScoreDetail::Pin { .. }))
}
