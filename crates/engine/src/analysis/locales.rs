pub use charabia::Language;

use crate::fields::matches_pattern;
use crate::settings::LocalizedRule;

/// Languages that a text may be in. None: any.
pub type Locales<'a> = Option<&'a [Language]>;

/// Parses three-letter codes, validated by `settings/` and `http/`. Codes of languages without a segmenter are dropped.
pub fn parse_locales<S: AsRef<str>>(codes: &[S]) -> Vec<Language> {
    codes.iter().filter_map(|code| Language::from_code(code.as_ref())).collect()
}

/// Localized rules with parsed languages.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldLocales {
    rules: Vec<(Vec<String>, Vec<Language>)>,
}

impl FieldLocales {
    pub(super) fn new(rules: &[LocalizedRule]) -> Self {
        let rules = rules.iter().map(|rule| (rule.attribute_patterns.clone(), parse_locales(&rule.locales)));
        Self { rules: rules.collect() }
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let patterns = |patterns: &[String]| {
            patterns.iter().map(|pattern| size_of::<String>() + pattern.len()).sum::<usize>()
        };
        let rule =
            |(names, languages): &(Vec<String>, Vec<Language>)| patterns(names) + size_of_val(&**languages);
        size_of_val(&*self.rules) + self.rules.iter().map(rule).sum::<usize>()
    }

    pub(super) fn of(&self, field: &str) -> Locales<'_> {
        let fits = |(patterns, _): &&(Vec<String>, _)| {
            patterns.iter().any(|pattern| matches_pattern(pattern, field))
        };
        self.rules.iter().find(fits).map(|(_, languages)| languages.as_slice())
    }
}
