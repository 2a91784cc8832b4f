//! The versions of everything that cuts texts into words.
//!
//! An index stores them. If they differ from those of the engine, queries may be cut into other words than its
//! documents, until the documents are analysed again.

use std::collections::BTreeMap;

/// Version by component. The fallback has the same components.
pub type AnalysisVersion = BTreeMap<String, String>;

/// The components of this engine. A test compares the versions with `Cargo.lock`.
const COMPONENTS: [(&str, &str); 9] = [
    // The order of our own steps, such as those for Japanese.
    ("rules", "1"),
    ("segmenter", "charabia 0.9.9"),
    ("chinese", "jieba-rs 0.8.1"),
    ("japanese", "icu_segmenter 2.4.0"),
    ("korean", "none"),
    ("thaiAndKhmer", "charabia 0.9.9"),
    ("normaliser", "charabia 0.9.9"),
    ("unicode", "unicode-normalization 0.1.26"),
    ("stemmer", "waken_snowball 0.1.0"),
];

/// The components of the last engine that did not store them. Must not change.
const UNSTAMPED: [(&str, &str); 9] = [
    ("rules", "1"),
    ("segmenter", "charabia 0.9.9"),
    ("chinese", "jieba-rs 0.8.1"),
    ("japanese", "icu_segmenter 2.4.0"),
    ("korean", "none"),
    ("thaiAndKhmer", "charabia 0.9.9"),
    ("normaliser", "charabia 0.9.9"),
    ("unicode", "unicode-normalization 0.1.26"),
    ("stemmer", "waken_snowball 0.1.0"),
];

fn owned(components: [(&str, &str); 9]) -> AnalysisVersion {
    components.into_iter().map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

/// Returns the versions of this engine.
pub fn analysis_version() -> AnalysisVersion {
    owned(COMPONENTS)
}

/// Returns the versions that apply to an index which does not store them.
pub fn unstamped_version() -> AnalysisVersion {
    owned(UNSTAMPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        for (component, version) in COMPONENTS {
            let Some((name, version)) = version.split_once(' ') else { continue };
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{component}: {name} {version}");
        }
    }
}
