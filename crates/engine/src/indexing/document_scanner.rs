//! Scans the text of a document: checks that it is well formed and has known fields only, and finds its id.
//!
//! This takes one pass, without building the document. Most documents of a body have the same fields as the previous
//! one and need no other check before they are written. A document with an unknown field, a reserved field or an error
//! goes to the slower path, which builds it and reports errors.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::flatten::is_reserved;
use super::primary_key;
use crate::fields::{FieldMap, is_same_or_below};

/// Checks that a document is a well-formed object. Errors are those of [`serde_json::from_slice`].
pub fn check(document: &[u8]) -> serde_json::Result<()> {
    DocumentScanner::default().walk(document, None)
}

/// Fields that are known before a document is read.
#[derive(Clone, Copy)]
pub struct Known<'f> {
    /// All fields so far.
    pub fields: &'f FieldMap,
    /// Reserved fields with values to be checked. Paths below other reserved fields are never fields.
    pub checked: &'f [&'f str],
}

impl Known<'_> {
    /// Returns true if a path of a document needs no further check. `top`: true if the path is a key of the document
    /// itself.
    fn has(&self, path: &str, top: bool) -> bool {
        let is_known = || self.fields.id(path).is_some();
        if !is_reserved(path) {
            return is_known();
        }
        !self.checked.iter().any(|name| is_same_or_below(name, path)) && (!top || is_known())
    }
}

/// Scans documents one after another, and remembers the paths of the last documents.
#[derive(Default)]
pub struct DocumentScanner {
    /// Known paths in the order of the last documents, which is likely the order of the next one.
    usual: Vec<Box<str>>,
    /// Number of paths found in this document.
    paths: usize,
    path: String,
    key: Option<Box<str>>,
    /// Number of values of the key, and the last value.
    ids: usize,
    id: Value,
    /// True if all paths so far need no further check.
    ordinary: bool,
}

impl DocumentScanner {
    /// Returns the value of `key`, if it is a valid id, and the document has known fields only and none that has to be
    /// checked. `None` leaves the document to the slower path. `known` may only grow between documents.
    pub fn id(&mut self, document: &[u8], key: &str, known: &Known<'_>) -> Option<String> {
        if key.contains('.') {
            return None;
        }
        if self.key.as_deref() != Some(key) {
            self.key = Some(key.into());
        }
        (self.paths, self.ids, self.ordinary) = (0, 0, true);
        self.path.clear();
        self.walk(document, Some(known)).ok()?;
        if !self.ordinary || self.ids != 1 {
            return None;
        }
        primary_key::parse_id(&self.id).ok()
    }

    fn walk(&mut self, document: &[u8], known: Option<&Known<'_>>) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_slice(document);
        json.deserialize_map(Walk { scanner: self, known, top: true })?;
        json.end()
    }

    /// Checks the current path.
    fn check_path(&mut self, known: &Known<'_>, top: bool) {
        let at = self.paths;
        self.paths += 1;
        // A key with a dot may look like a known path through an object, so it is always looked up.
        let is_plain = !top || !self.path.contains('.');
        if is_plain && self.usual.get(at).is_some_and(|usual| **usual == *self.path) {
            return;
        }
        if !known.has(&self.path, top) {
            self.ordinary = false;
        } else if at < USUAL_MAX {
            self.usual.truncate(at);
            self.usual.push(self.path.as_str().into());
        }
    }
}

/// Number of remembered paths; further paths are looked up in every document.
const USUAL_MAX: usize = 1024;

struct Walk<'s, 'f> {
    scanner: &'s mut DocumentScanner,
    /// Known fields; `None` to check only that the document is well formed.
    known: Option<&'f Known<'f>>,
    /// True if the value is the document itself.
    top: bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a map")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { scanner, known, .. } = self;
        while items.next_element_seed(Walk { scanner, known, top: false })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { scanner, known, top } = self;
        let above = scanner.path.len();
        while entries.next_key_seed(Key { path: &mut scanner.path, top })?.is_some() {
            if let Some(known) = known {
                scanner.check_path(known, top);
            }
            if top && scanner.key.as_deref() == Some(scanner.path.as_str()) {
                scanner.ids += 1;
                scanner.id = entries.next_value()?;
            } else {
                entries.next_value_seed(Walk { scanner, known, top: false })?;
            }
            scanner.path.truncate(above);
        }
        Ok(())
    }
}

/// Appends a key to the path.
struct Key<'p> {
    path: &'p mut String,
    top: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a string key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        if !self.top {
            self.path.push('.');
        }
        self.path.push_str(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn fields() -> FieldMap {
        FieldMap::from_names(["id", "title", "cast", "cast.name", "_geo", "a.b"]).unwrap()
    }

    fn id(scanner: &mut DocumentScanner, document: &str, checked: &[&str]) -> Option<String> {
        scanner.id(document.as_bytes(), "id", &Known { fields: &fields(), checked })
    }

    #[test]
    fn an_ordinary_document_gives_its_id() {
        let mut scanner = DocumentScanner::default();
        for (document, id) in [
            (r#"{"id":7,"title":"x"}"#, "7"),
            (r#"{"title":null,"id":"a-b","cast":[{"name":"y"},{"name":[1.5,true]}]}"#, "a-b"),
            (r#" { "cast" : {"name":{}} , "id" : 18446744073709551615 } "#, "18446744073709551615"),
            (r#"{"\u0069d":1}"#, "1"),
        ] {
            assert_eq!(super::tests::id(&mut scanner, document, &[]).as_deref(), Some(id), "{document}");
        }
    }

    #[test]
    fn reserved_fields_are_checked_only_on_request() {
        let mut scanner = DocumentScanner::default();
        let geo = r#"{"id":7,"_geo":{"lat":1,"lng":{"deep":2}}}"#;
        for _ in 0..2 {
            assert_eq!(id(&mut scanner, geo, &["_vectors"]).as_deref(), Some("7"));
        }
        let mut careful = DocumentScanner::default();
        for _ in 0..2 {
            assert_eq!(id(&mut careful, geo, &["_geo", "_vectors"]), None);
            assert_eq!(id(&mut careful, r#"{"id":7,"_vectors":{}}"#, &["_vectors"]), None);
        }
        // `_geo.lat` looks like a known path, but is a key with a dot.
        assert_eq!(id(&mut scanner, r#"{"id":7,"_geo":{},"_geo.lat":1}"#, &["_vectors"]), None);
    }

    #[test]
    fn documents_that_need_further_checks_give_no_id() {
        let mut scanner = DocumentScanner::default();
        for document in [
            r#"{"id":7,"new":1}"#,
            r#"{"id":7,"cast":[{"new":1}]}"#,
            r#"{"id":7,"id":8}"#,
            r#"{"title":"x"}"#,
            r#"{"id":1.5}"#,
            r#"{"id":"not an id"}"#,
            r#"{"id":{"id":1}}"#,
            r#"{"id":7,"_geojson":null}"#,
            r#"{"id":7,"#,
            r#"{"id":7} x"#,
            "[]",
        ] {
            // Scans each document twice: paths remembered from the first scan must not let the second one pass.
            for _ in 0..2 {
                assert_eq!(id(&mut scanner, document, &[]), None, "{document}");
            }
        }
        let known = Known { fields: &fields(), checked: &[] };
        assert_eq!(scanner.id(br#"{"a":{"b":1}}"#, "a.b", &known), None);
    }

    #[test]
    fn errors_equal_those_of_building_the_document() {
        let deep = |depth: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        let texts = [
            "",
            "{",
            "[1]",
            "1",
            r#""x""#,
            "null",
            "{}",
            r#"{"a":1e999}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a" 1}"#,
            r#"{"a":1,}"#,
            r#"{1:2}"#,
            r#"{"a":tru}"#,
            "{\"a\":\"\u{1}\"}",
            r#"{"a":01}"#,
            r#"{} {}"#,
            r#"{"a":[1 2]}"#,
        ];
        let mut texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        texts.extend([deep(100), deep(126), deep(127), deep(128), deep(5000)].map(String::into_bytes));
        texts.push(b"{\"a\":\"\xff\"}".to_vec());
        for text in texts {
            let built = serde_json::from_slice::<Map<String, Value>>(&text).map(|_| ());
            let walked = check(&text);
            let shown = |outcome: serde_json::Result<()>| outcome.map_err(|error| error.to_string());
            assert_eq!(shown(walked), shown(built), "{}", String::from_utf8_lossy(&text));
        }
    }
}
