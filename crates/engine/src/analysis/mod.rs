//! Cuts texts into tokens.
//!
//! Documents, queries and highlighting use the same tokens; only locales and stop words differ.

mod analyzer;
mod chinese;
mod compounds;
mod facet;
mod hangul;
mod latin;
mod locales;
mod pinyin;
mod stemmer;
mod stop_words;
mod token;
mod version;
mod words;

pub use analyzer::Analyzer;
pub use chinese::{is_chinese_read, read_chinese};
pub use compounds::Compounds;
pub use facet::{normalize_facet, normalize_facet_search};
pub use hangul::typed_on;
pub use locales::{Language, Locales, parse_locales};
pub use pinyin::{Pinyin, Reached, Reads};
pub use stemmer::Stemmer;
pub use stop_words::StopWordLists;
pub use token::{Piece, TakePieces, Token, TokenKind};
pub use version::{AnalysisVersion, analysis_version, unstamped_version};
pub use words::{Dictionaries, DictionaryIds, needs_dictionary};

#[cfg(test)]
mod tests;
