//! The worked examples of search §19 with different words. Each runs on one segment and on several with deleted
//! documents in between. Each rule has a file, which begins with the properties it tests.

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
mod relevance;
mod search_on;
mod sort;
mod threshold;
mod typo;
mod word_position;
mod words;
