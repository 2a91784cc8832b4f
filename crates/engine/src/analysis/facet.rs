use std::borrow::Cow;

use charabia::normalizer::{CharNormalizer as _, CompatibilityDecompositionNormalizer, NormalizerOption};
use charabia::{Normalize as _, StrDetection, Token};

use super::locales::Locales;

/// Normalises a string for filters, sort, facets and distinct: trimmed, decomposed, lower-case. Accents stay. NUL is
/// ignored: it separates the parts of a column's term.
///
/// Source: search §13.
pub fn normalize_facet(text: &str) -> String {
    let text = without_nul(text);
    let trimmed = text.trim();
    if trimmed.is_ascii() {
        return trimmed.to_ascii_lowercase();
    }
    CompatibilityDecompositionNormalizer.normalize_str(trimmed).to_lowercase()
}

fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// Normalises a value for facet search, as one word: accents are removed.
///
/// Source: search §14.
pub fn normalize_facet_search(text: &str, locales: Locales<'_>) -> String {
    let mut detection = StrDetection::new(text, locales);
    let token = Token {
        lemma: Cow::Borrowed(text),
        script: detection.script(),
        language: detection.language(),
        ..Token::default()
    };
    let options = NormalizerOption { lossy: true, ..NormalizerOption::default() };
    token.normalize(&options).lemma.into_owned()
}
