//! Formats the texts of hits.
//!
//! Texts are highlighted, cropped to the part around their matches, or positions of matches are listed.

mod crop;
mod matches;

use std::collections::{BTreeMap, HashMap};

pub(super) use matches::Matching;

use self::matches::{Match, Words};
use super::json_scanner::unquote;
use super::json_writer::{write_json, write_text};
use super::projection::{Leaf, Selection, displayed_part, project};
use super::request::SearchRequest;

use crate::analysis::{Analyzer, Language};
use crate::facets::Columns;
use crate::fields::is_same_or_below;

/// The formatting of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Format {
    highlight: bool,
    /// Number of words to crop to.
    crop: Option<usize>,
}

/// Formats the hits of a search.
pub(super) struct Formatter<'a> {
    request: &'a SearchRequest,
    analyzer: Analyzer,
    locales: Option<Vec<Language>>,
    matching: Matching,
    highlighted: Vec<&'a str>,
    cropped: Vec<(&'a str, usize)>,
    /// The attributes in `_formatted`; `None` if hits have no `_formatted`.
    shown: Option<Selection>,
    displayed: Selection,
    /// Path → its formatting, as a cache.
    formats: HashMap<String, Format>,
    /// An output of this size is too large for the answer; nothing more is written.
    bytes_max: usize,
}

impl<'a> Formatter<'a> {
    pub fn new(
        request: &'a SearchRequest,
        analyzer: &Analyzer,
        matching: Matching,
        displayed: &Selection,
        retrieved: &Selection,
        columns: &Columns,
    ) -> Self {
        let names = |list: &'a Option<Vec<String>>| list.iter().flatten().map(String::as_str);
        let shows_something = match displayed {
            Selection::All => true,
            Selection::Paths(paths) => paths.iter().any(|path| columns.knows(path)),
        };
        let resolves = |name: &&str| match *name {
            "*" => shows_something,
            name => columns.knows(name) && displayed.meets(name),
        };
        let highlighted: Vec<&str> = names(&request.attributes_to_highlight).filter(resolves).collect();
        let cropped: Vec<(&str, usize)> = names(&request.attributes_to_crop)
            .map(|name| crop_of(name, request.crop_length))
            .filter(|(name, _)| resolves(name))
            .collect();
        let formatted: Vec<String> = highlighted
            .iter()
            .copied()
            .chain(cropped.iter().map(|(name, _)| *name))
            .map(str::to_owned)
            .collect();
        let shown = (!formatted.is_empty()).then(|| Selection::of(&formatted).and(displayed).or(retrieved));
        let locales = request.locales.as_deref().map(crate::analysis::parse_locales);
        Self {
            request,
            analyzer: analyzer.for_highlight(),
            locales,
            matching,
            highlighted,
            cropped,
            shown,
            displayed: displayed.clone(),
            formats: HashMap::new(),
            bytes_max: usize::MAX,
        }
    }

    /// Limits the bytes of each later hit. A hit exceeds the limit by at most one value.
    pub fn limit(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Writes `_formatted` if the request formats any attribute. Returns true if it does.
    pub fn write_formatted(&mut self, source: &str, hidden: &[&str], out: &mut Vec<u8>) -> bool {
        let Some(shown) = self.shown.clone() else { return false };
        let source = displayed_part(source, &self.displayed, hidden);
        project(&source, &shown, hidden, out, |leaf, out| self.write_leaf(&leaf, out));
        true
    }

    fn write_leaf(&mut self, leaf: &Leaf<'_>, out: &mut Vec<u8>) {
        if out.len() > self.bytes_max {
            return;
        }
        let Some(text) = text_of(leaf.raw) else {
            out.extend_from_slice(leaf.raw.as_bytes());
            return;
        };
        let format = self.format_of(leaf.path);
        let is_formatted = format.crop.is_some() || (format.highlight && !self.matching.is_empty());
        let formatted = if is_formatted { self.format(leaf.path, &text, format) } else { None };
        match formatted {
            Some(formatted) => write_text(&formatted, out),
            None if leaf.raw.starts_with('"') => out.extend_from_slice(leaf.raw.as_bytes()),
            None => write_text(&text, out),
        }
    }

    fn format_of(&mut self, path: &str) -> Format {
        if let Some(format) = self.formats.get(path) {
            return *format;
        }
        // A request for `o.x` also formats a text value of `o`.
        let covers = |name: &str| name == "*" || is_same_or_below(name, path) || is_same_or_below(path, name);
        let seen = self.displayed.covers(path);
        let crop = self.cropped.iter().find(|(name, _)| covers(name)).map(|(_, length)| *length);
        let format = Format {
            highlight: seen && self.highlighted.iter().any(|name| covers(name)),
            crop: crop.filter(|length| seen && *length > 0),
        };
        self.formats.insert(path.to_owned(), format);
        format
    }

    /// Returns the formatted text; `None` if it stays unchanged.
    fn format(&self, path: &str, text: &str, format: Format) -> Option<String> {
        let words = self.words(path, text, format.crop.is_some());
        let matches = self.matching.find(&words);
        let window = match (&words.pieces, format.crop) {
            (Some(pieces), Some(length)) => crop::window(pieces, &matches, length),
            _ => 0..text.len(),
        };
        if window == (0..text.len()) && (matches.is_empty() || !format.highlight) {
            return None;
        }
        let marker = self.request.crop_marker.as_str();
        let mut formatted = String::with_capacity(window.len() + 2 * marker.len());
        if window.start > 0 {
            formatted.push_str(marker);
        }
        let mut written = window.start;
        for found in matches.iter().filter(|_| format.highlight) {
            let (start, end) = (found.bytes.start.max(window.start), found.bytes.end.min(window.end));
            if start >= end {
                continue;
            }
            if formatted.len() > self.bytes_max {
                break;
            }
            formatted.push_str(&text[written..start]);
            formatted.push_str(&self.request.highlight_pre_tag);
            formatted.push_str(&text[start..end]);
            formatted.push_str(&self.request.highlight_post_tag);
            written = end;
        }
        formatted.push_str(&text[written..window.end]);
        if window.end < text.len() {
            formatted.push_str(marker);
        }
        Some(formatted)
    }

    fn words<'t>(&self, path: &str, text: &'t str, is_cropped: bool) -> Words<'t> {
        let locales = match &self.locales {
            Some(languages) => Some(languages.as_slice()),
            None => self.analyzer.locales_of(path),
        };
        Words::of(&self.analyzer, text, locales, &self.matching, is_cropped)
    }

    /// Writes `_matchesPosition`: byte positions of matches in displayed attributes, sorted by attribute.
    pub fn write_positions(&self, source: &str, hidden: &[&str], out: &mut Vec<u8>) {
        let mut of_path: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut bytes = out.len();
        if !self.matching.is_empty() {
            let mut ignored = Vec::new();
            project(source, &self.displayed, hidden, &mut ignored, |leaf, _| {
                if bytes > self.bytes_max {
                    return;
                }
                let Some(text) = text_of(leaf.raw) else { return };
                let words = self.words(leaf.path, &text, false);
                let found = self.matching.find(&words);
                // For arrays, the reference reports only the last element with a match.
                if !found.is_empty() {
                    let positions = positions_json(&found, leaf.indices);
                    bytes += positions.len();
                    of_path.insert(leaf.path.to_owned(), positions);
                }
            });
        }
        out.push(b'{');
        for (at, (path, positions)) in of_path.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_text(path, out);
            out.push(b':');
            out.extend_from_slice(positions);
        }
        out.push(b'}');
    }
}

/// Renders positions of matches as JSON, with the indexes of their text in the arrays above it.
fn positions_json(found: &[Match], indices: &[usize]) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Position<'i> {
        start: usize,
        length: usize,
        #[serde(skip_serializing_if = "<[usize]>::is_empty")]
        indices: &'i [usize],
    }
    let mut out = Vec::new();
    for (at, Match { bytes, .. }) in found.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        write_json(&Position { start: bytes.start, length: bytes.len(), indices }, &mut out);
    }
    out.push(b']');
    out
}

/// Returns the text of a string or number; `None` for booleans and null. Numbers are written in their shortest form.
fn text_of(raw: &str) -> Option<std::borrow::Cow<'_, str>> {
    match raw.as_bytes().first()? {
        b'"' => Some(unquote(raw)),
        b't' | b'f' | b'n' => None,
        _ => Some(match serde_json::from_str::<serde_json::Number>(raw) {
            Ok(number) => number.to_string().into(),
            Err(_) => raw.into(),
        }),
    }
}

/// Splits `attribute:length`; uses the default length if there is none or it is not a number.
fn crop_of(entry: &str, default: usize) -> (&str, usize) {
    match entry.rsplit_once(':') {
        Some((name, length)) => (name, length.parse().unwrap_or(default)),
        None => (entry, default),
    }
}
