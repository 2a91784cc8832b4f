use std::borrow::Cow;

use charabia::normalizer::{CharNormalizer as _, CompatibilityDecompositionNormalizer, NormalizerOption};
use charabia::{Normalize as _, Script, StrDetection, Token};
use unicode_normalization::UnicodeNormalization as _;

use super::locales::Locales;

/// Normalises a string for filters, sort, facets and distinct: trimmed, decomposed, lower-case. Accents stay. NUL is
/// ignored: it separates the parts of a column's term.
///
/// Source: search §13.
pub fn normalize_facet(text: &str) -> String {
    facet_form(without_nul(text).trim())
}

fn facet_form(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    CompatibilityDecompositionNormalizer.normalize_str(text).to_lowercase()
}

fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// Normalises a value or a query for facet search: like a value, but without accents and with its white space. Each run
/// of a script is normalised by itself, so that the beginning of a value is normalised as in the value.
///
/// Source: search §14.
pub fn normalize_facet_search(text: &str, locales: Locales<'_>) -> String {
    // A sigma has another form at the end of a word. A query may end within a word of the value.
    let text = facet_form(&without_nul(text)).replace('ς', "σ");
    let options = NormalizerOption { lossy: true, ..NormalizerOption::default() };
    let mut normalised = String::with_capacity(text.len());
    for run in script_runs(&text) {
        // Languages are detected by composed letters.
        let composed: String = run.nfc().collect();
        let mut detection = StrDetection::new(&composed, locales);
        let token = Token {
            lemma: Cow::Borrowed(run),
            script: detection.script(),
            language: detection.language(),
            ..Token::default()
        };
        normalised.push_str(&token.normalize(&options).lemma);
    }
    normalised
}

/// Splits a text into the longest runs of a single script. Characters without a script join any run.
fn script_runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut script = Script::Other;
        let is_of_another = |&(_, character): &(usize, char)| {
            let here = Script::from(character);
            if script == Script::Other {
                script = here;
            }
            here != Script::Other && here != script
        };
        let end = rest.char_indices().find(is_of_another).map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at(end);
        rest = after;
        (!run.is_empty()).then_some(run)
    })
}
