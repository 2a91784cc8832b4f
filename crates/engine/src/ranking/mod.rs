//! Here are documents in play and a query: in which order do they answer it, and how well?
//!
//! 1. [`rank`] has the query read by `query`, and drops documents that match no way of reading it.
//! 2. `rules` lists the ranking rules that the search goes through.
//! 3. `bucket_sort` splits the documents rule by rule. A rule is a [`rule::RankingRule`] in a file of its own; most
//!    of them charge for the steps of reading the query and share `cost`.
//! 4. `score` turns what the rules said into numbers.
//!
//! [`words_in_document`] tells of one document what of the query it has, for an explanation.
//!
//! Source: search §4–§9, §11, §17, §18.

mod bucket_sort;
mod cost;
mod limits;
mod rank;
mod ranked;
mod request;
mod rule;
mod rules;
mod score;
mod words_in_document;

#[cfg(test)]
mod tests;

pub use rank::rank;
pub use ranked::{Ranked, RankedHit};
pub use request::{Deadline, MatchingStrategy, RankRequest, SortCriterion};
pub use score::{MatchType, Rank, ScoreDetail};
pub(crate) use words_in_document::{WordStep, WordsInDocument, words_in_document};
