//! Documents that have a place of their own on the page, whatever their rank.

use std::sync::Arc;

use roaring::RoaringBitmap;

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

/// Pins at their positions, the rest in between; once that runs out, the pins that are left.
pub(super) struct Interleave<T, I: Iterator<Item = T>, P> {
    pins: std::iter::Peekable<std::vec::IntoIter<T>>,
    rest: I,
    position: P,
    placed: usize,
}

impl<T, I: Iterator<Item = T>, P: Fn(&T) -> u32> Interleave<T, I, P> {
    /// `pins` in order of their positions.
    pub fn new(pins: Vec<T>, rest: I, position: P) -> Self {
        Self { pins: pins.into_iter().peekable(), rest, position, placed: 0 }
    }
}

impl<T, I: Iterator<Item = T>, P: Fn(&T) -> u32> Iterator for Interleave<T, I, P> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (position, placed) = (&self.position, self.placed);
        self.placed += 1;
        let due = self.pins.next_if(|pin| position(pin) as usize <= placed);
        due.or_else(|| self.rest.next()).or_else(|| self.pins.next())
    }
}

#[cfg(test)]
mod tests {
    use super::Interleave;

    #[test]
    fn pins_stand_at_their_positions_and_close_up_at_the_end() {
        let cases: [(&[u32], usize, &str); 6] = [
            (&[0], 3, "P0 r r r"),
            (&[1, 1], 3, "r P1 P1 r r"),
            (&[2], 3, "r r P2 r"),
            (&[10, 20], 2, "r r P10 P20"),
            (&[0, 5], 0, "P0 P5"),
            (&[], 2, "r r"),
        ];
        for (pins, rest, expected) in cases {
            let pins = pins.iter().map(|at| format!("P{at}")).collect();
            let rest = std::iter::repeat_n("r".to_owned(), rest);
            let position = |pin: &String| pin[1..].parse().unwrap_or_default();
            let found: Vec<String> = Interleave::new(pins, rest, position).collect();
            assert_eq!(found.join(" "), expected);
        }
    }
}
