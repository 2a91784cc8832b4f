//! Which rules does a query go through, and in which order?

use std::sync::Arc;

use super::{MatchingStrategy, SortCriterion};
use crate::settings::Settings;
use crate::vector::Nearest;

/// A rule to sort by. `attribute` and `exactness` are two of these each.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    Words(MatchingStrategy),
    Typo,
    Proximity,
    AttributeRank { unified: bool },
    WordPosition { unified: bool },
    ExactAttribute,
    ExactWords,
    Sort(SortCriterion),
    Vector(ByVector),
}

/// There is one in a search at most.
#[derive(Debug, Clone)]
pub(super) struct ByVector(pub(super) Arc<Nearest>);

impl PartialEq for ByVector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The rules of a query that has words. Source: search-semantics §6.4.
pub(super) fn with_words(
    settings: &Settings,
    strategy: MatchingStrategy,
    sort: &[SortCriterion],
) -> Vec<Rule> {
    let mut rules = Rules::default();
    for name in &settings.ranking_rules {
        if let "typo" | "attribute" | "attributeRank" | "wordPosition" | "proximity" | "exactness" =
            name.as_str()
        {
            // Those speak of words, so words are counted first.
            rules.words(strategy);
        }
        match name.as_str() {
            "words" => rules.words(strategy),
            "typo" => rules.push(Rule::Typo),
            "proximity" => rules.push(Rule::Proximity),
            "attributeRank" => rules.push(Rule::AttributeRank { unified: false }),
            "wordPosition" => rules.push(Rule::WordPosition { unified: false }),
            "attribute" => {
                rules.push(Rule::AttributeRank { unified: true });
                rules.push(Rule::WordPosition { unified: true });
            }
            "exactness" => {
                rules.push(Rule::ExactAttribute);
                rules.push(Rule::ExactWords);
            }
            _ => rules.sort(name, sort),
        }
    }
    rules.list
}

/// The rules of a query without words.
pub(super) fn without_words(settings: &Settings, sort: &[SortCriterion]) -> Vec<Rule> {
    let mut rules = Rules::default();
    for name in &settings.ranking_rules {
        rules.sort(name, sort);
    }
    rules.list
}

/// The rules of a search by meaning: one over vectors stands where the first that speaks of words did.
/// Source: vectors §6.6.
pub(super) fn by_vectors(settings: &Settings, nearest: &Arc<Nearest>, sort: &[SortCriterion]) -> Vec<Rule> {
    let mut rules = Rules::default();
    for name in &settings.ranking_rules {
        match name.as_str() {
            "words" | "typo" | "proximity" | "attribute" | "attributeRank" | "wordPosition" | "exactness" => {
                rules.push(Rule::Vector(ByVector(Arc::clone(nearest))));
            }
            _ => rules.sort(name, sort),
        }
    }
    rules.list
}

#[derive(Default)]
struct Rules {
    list: Vec<Rule>,
}

impl Rules {
    /// Only the first of equal rules has any effect.
    fn push(&mut self, rule: Rule) {
        if !self.list.contains(&rule) {
            self.list.push(rule);
        }
    }

    fn words(&mut self, strategy: MatchingStrategy) {
        if strategy != MatchingStrategy::All {
            self.push(Rule::Words(strategy));
        }
    }

    fn sort(&mut self, name: &str, sort: &[SortCriterion]) {
        let custom = |(path, direction): (&str, &str)| match direction {
            "asc" | "desc" => {
                Some(SortCriterion::Field { path: path.to_owned(), ascending: direction == "asc" })
            }
            _ => None,
        };
        if name == "sort" {
            for criterion in sort {
                self.sort_by(criterion.clone());
            }
        } else if let Some(criterion) = name.rsplit_once(':').and_then(custom) {
            self.sort_by(criterion);
        }
    }

    /// A field that was sorted by, in whichever direction, leaves nothing to sort by it again.
    fn sort_by(&mut self, criterion: SortCriterion) {
        let same_field = |rule: &Rule| match (rule, &criterion) {
            (Rule::Sort(SortCriterion::Field { path: known, .. }), SortCriterion::Field { path, .. }) => {
                known == path
            }
            _ => false,
        };
        if !self.list.iter().any(same_field) {
            self.push(Rule::Sort(criterion));
        }
    }
}
