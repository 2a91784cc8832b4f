//! With which letter does each word of a document begin?
//!
//! A query of one letter matches a tenth of all words: thousands of postings lists. So each segment stores
//! the initials of its words in two files that no setting affects: by document ([`Initials`], extension
//! `initials`), for readers that know the documents they need, and by letter ([`InitialPostings`], extension
//! `places`), for readers that look for documents.

mod codes;
mod files;
mod forward;
mod forward_writer;
mod plugin;
mod postings;
pub(super) mod word_initial;
mod words;

pub use codes::Initial;
pub use forward::Initials;
pub(super) use plugin::InitialsPlugin;
pub use postings::{InitialPosting, InitialPostings};
pub use words::{Beside, Words};
