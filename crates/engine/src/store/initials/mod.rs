//! With which letter does each word of a document begin?
//!
//! Whoever types one letter means a tenth of all words: thousands of lists. So each segment keeps initials beside its
//! words, in two files of its own that no setting touches: document by document ([`Initials`], ending `initials`), for
//! who has few documents, and letter by letter ([`InitialPlaces`], ending `places`), for who has none yet.

mod alphabet;
mod by_document;
mod by_letter;
mod plugin;

pub use alphabet::Initial;
pub use by_document::{Beside, Initials, WordInitial, Words};
pub use by_letter::{InitialPlaces, Place};
pub(super) use plugin::InitialsPlugin;
