//! The worked examples of search §19, in our own words, each on one segment and on several with
//! deleted documents in between. A file per rule; each opens with the properties it holds.

mod attribute_rank;
mod corpus;
mod cutoff;
mod derivations;
mod details;
mod distinct;
mod exactness;
mod golden;
mod paths;
mod phrases;
mod proximity;
mod query;
mod search_on;
mod sort;
mod threshold;
mod typo;
mod word_position;
mod words;
