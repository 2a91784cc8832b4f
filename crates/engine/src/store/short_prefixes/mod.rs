//! Short-prefix lists: the documents and positions of all words that begin with a given letter.
//!
//! A query of one letter matches a tenth of all words: thousands of postings lists. So each segment stores the first
//! letters of its words in two files, which are independent of settings: by document ([`ForwardLists`], extension
//! `initials`), for readers that know the documents, and by letter ([`ShortPrefixPostings`], extension `places`), for
//! readers that search for documents.

mod codes;
mod files;
mod forward;
mod forward_writer;
mod plugin;
mod postings;
pub(super) mod word_code;
mod words;

pub use codes::ShortPrefix;
pub use forward::ForwardLists;
pub(super) use plugin::ShortPrefixPlugin;
pub use postings::{ShortPrefixPosting, ShortPrefixPostings};
pub use words::{WordSide, Words};
