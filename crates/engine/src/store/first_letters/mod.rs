//! With which letter does each word of a document begin?
//!
//! A query of one letter means a tenth of all words: thousands of lists. So each segment keeps initials beside its
//! words, in two files of its own that no setting touches: document by document ([`Initials`], ending `initials`), for
//! who has few documents, and letter by letter ([`InitialPostings`], ending `places`), for who has none yet.

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
