//! Automata over the words at the start of terms (`token ‖ 0 ‖ attribute`).

use std::sync::OnceLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::Automaton;

use super::budget::Budget;

/// Accepts the terms of words within a Levenshtein distance of a query word.
///
/// An adjacent transposition counts as one edit. The distance of an unfinished word is the least over all prefixes of
/// the candidate.
pub(super) struct Near<'b> {
    dfa: DFA,
    budget: &'b Budget,
}

/// Position of the automaton in a term: in its word, past a word within the distance, or past any other word.
#[derive(Clone, Copy)]
pub(super) enum State {
    Word(u32),
    Suffix,
    Dead,
}

impl<'b> Near<'b> {
    /// `typos` is 1 or 2. No further term matches once `budget` stops the search.
    pub(super) fn new(word: &str, typos: u8, unfinished: bool, budget: &'b Budget) -> Self {
        static ONE: OnceLock<LevenshteinAutomatonBuilder> = OnceLock::new();
        static TWO: OnceLock<LevenshteinAutomatonBuilder> = OnceLock::new();
        let (cell, typos) = if typos < 2 { (&ONE, 1) } else { (&TWO, 2) };
        let builder = cell.get_or_init(|| LevenshteinAutomatonBuilder::new(typos, true));
        let dfa = if unfinished { builder.build_prefix_dfa(word) } else { builder.build_dfa(word) };
        Self { dfa, budget }
    }

    /// Returns the distance to `word`; `None` if it exceeds the allowed typos.
    pub(super) fn distance(&self, word: &str) -> Option<u8> {
        match self.dfa.eval(word) {
            Distance::Exact(distance) => Some(distance),
            Distance::AtLeast(_) => None,
        }
    }
}

impl Automaton for Near<'_> {
    type State = State;

    fn start(&self) -> State {
        State::Word(self.dfa.initial_state())
    }

    fn is_match(&self, state: &State) -> bool {
        matches!(state, State::Suffix)
    }

    fn can_match(&self, state: &State) -> bool {
        !matches!(state, State::Dead) && !self.budget.stops()
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        match *state {
            State::Word(at) if byte == 0 => match self.dfa.distance(at) {
                Distance::Exact(_) => State::Suffix,
                Distance::AtLeast(_) => State::Dead,
            },
            State::Word(at) => match self.dfa.transition(at, byte) {
                SINK_STATE => State::Dead,
                next => State::Word(next),
            },
            past => past,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_distance_counts_edits_and_swaps() {
        let budget = Budget::until(Instant::now() + Duration::from_secs(60));
        for (word, candidate, unfinished, distance) in [
            ("lantern", "lantern", false, Some(0)),
            ("lantern", "lanternn", false, Some(1)),
            ("lantern", "latnern", false, Some(1)),
            ("lantern", "latnrn", false, Some(2)),
            ("lantern", "lanterns are", true, Some(0)),
            ("lantern", "lantrens", true, Some(1)),
            ("lantern", "lemon", false, None),
            ("größe", "grösse", false, Some(2)),
        ] {
            assert_eq!(
                Near::new(word, 2, unfinished, &budget).distance(candidate),
                distance,
                "{word} {candidate}"
            );
        }
    }
}
