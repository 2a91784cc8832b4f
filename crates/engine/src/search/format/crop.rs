//! The part of a text around its matches.

use std::collections::BTreeSet;
use std::ops::Range;

use super::matches::Match;
use crate::analysis::{Piece, TokenKind};

/// Farther apart is as bad as so many words. Source: search §16.4.
const GAP_MAX: usize = 7;

/// How good a run of matches is: query positions it covers, nearness, order.
type Score = (usize, isize, isize);

/// Bytes of the part of a text that is shown: `length` words around its best matches, or its beginning.
pub(super) fn window(pieces: &[Piece], matches: &[Match], length: usize) -> Range<usize> {
    let end = pieces.last().map_or(0, |token| token.end as usize);
    // Pieces before `left` and from `right` on are outside.
    let (mut left, mut right, mut remaining);
    match best_run(matches, length) {
        None => (left, right, remaining) = (0, 0, length),
        Some((first, last)) => {
            let (first_word, last_word) = (*first.words.start(), *last.words.end());
            left = place_of(pieces, first_word);
            right = place_of(pieces, last_word) + 1;
            let span = last_word - first_word + 1;
            if span > length {
                let start = left.checked_sub(1).map_or(0, |before| pieces[before].end as usize);
                let last = place_of(pieces, first_word + length - 1);
                return start..pieces[last].end as usize;
            }
            remaining = length - span;
        }
    }
    while remaining > 0 {
        let before = left.checked_sub(1).map(|at| pieces[at].kind);
        let after = pieces.get(right).map(|token| token.kind);
        match (before, after) {
            (None, None) => break,
            (Some(kind), None) => {
                left -= 1;
                remaining -= usize::from(kind.is_word());
            }
            (None, Some(kind)) => {
                right += 1;
                remaining -= usize::from(kind.is_word());
            }
            (Some(before), Some(after)) => match (before.is_word(), after.is_word()) {
                (true, true) => {
                    left -= 1;
                    remaining -= 1;
                    if remaining > 0 {
                        right += 1;
                        remaining -= 1;
                    }
                }
                (true, false) => {
                    left -= 1;
                    remaining -= 1;
                }
                (false, true) => {
                    right += 1;
                    remaining -= 1;
                }
                (false, false) if before == after => {
                    left -= 1;
                    // A window does not end in a separator.
                    if remaining > 1 {
                        right += 1;
                    }
                }
                (false, false) if before == TokenKind::Hard => right += 1,
                (false, false) => left -= 1,
            },
        }
    }
    let from = left.checked_sub(1).map_or(0, |before| pieces[before].end as usize);
    let to = pieces.get(right).map_or(end, |after| after.start as usize);
    from..to
}

/// Where the word of a number is among all pieces.
fn place_of(pieces: &[Piece], word: usize) -> usize {
    let mut words = (0..pieces.len()).filter(|&at| pieces[at].kind.is_word());
    words.nth(word).unwrap_or_default()
}

/// First and last match of the best run that fits `length` words; the first match if none fits.
fn best_run(matches: &[Match], length: usize) -> Option<(&Match, &Match)> {
    let mut best: Option<(Score, usize, usize)> = None;
    let mut consider = |first: usize, last: usize| {
        let score = score(&matches[first..=last]);
        if best.is_none_or(|(so_far, ..)| score > so_far) {
            best = Some((score, first, last));
        }
    };
    let fits = |first: usize, last: usize| {
        let (start, end) = (*matches[first].words.start(), *matches[last].words.end());
        start > end || end - start < length
    };
    let final_match = matches.len().checked_sub(1)?;
    let mut first = 0;
    for next in 0..matches.len() {
        if fits(first, next) {
            continue;
        }
        // Phrases longer than the crop follow one another: nothing lies between them.
        if next > first {
            consider(first, next - 1);
        }
        first += 1;
        while first < matches.len() && !fits(first, next) {
            first += 1;
        }
        first = first.min(final_match);
    }
    let alone = first == final_match;
    if !alone || matches[first].words.clone().count() < length {
        consider(first, final_match);
    }
    let (first, last) = best.map_or((0, 0), |(_, first, last)| (first, last));
    Some((&matches[first], &matches[last]))
}

fn score(run: &[Match]) -> Score {
    let mut covered = BTreeSet::new();
    let (mut nearness, mut order) = (0, 0);
    for (at, found) in run.iter().enumerate() {
        covered.extend(found.positions.clone());
        let inner = (found.words.end() - found.words.start()) as isize;
        nearness -= inner;
        order += inner;
        if let Some(next) = run.get(at + 1) {
            nearness -= (next.words.start() - found.words.end()).min(GAP_MAX) as isize;
            order += isize::from(next.positions.start() > found.positions.start());
        }
    }
    (covered.len(), nearness, order)
}
