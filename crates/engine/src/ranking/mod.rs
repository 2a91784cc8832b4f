//! Ranks documents for a query, with a score for each hit.
//!
//! 1. [`rank`] parses the query with `query`, and drops documents that match no reading of it.
//! 2. `rules` lists the ranking rules of the search.
//! 3. `bucket_sort` splits the documents rule by rule. A rule is a [`rule::RankingRule`] in its own file. Most rules
//!    charge for the steps of reading the query and share `cost`.
//! 4. `score` computes scores from the results of the rules.
//!
//! [`words_in_document`] explains one document: which query words occur in it.
//!
//! Source: search §4–§9, §11, §17, §18.

mod bucket_sort;
mod cost;
mod limits;
mod rank;
mod ranked;
mod relevance;
mod request;
mod rule;
mod rules;
mod score;
mod warm_up;
mod words_in_document;

#[cfg(test)]
mod tests;

pub use rank::{rank, rank_parts};
pub use ranked::{Ranked, RankedHit};
pub use request::{Deadline, MatchingStrategy, RankRequest, SortCriterion};
pub use score::{MatchType, Rank, ScaledBy, ScoreDetail};
pub use warm_up::{uses_lengths, wants_words, warm_up_lengths, warm_up_words};
pub(crate) use words_in_document::{WordStep, WordsInDocument, words_in_document};
