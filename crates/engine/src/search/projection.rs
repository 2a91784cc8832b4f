//! Projects a stored document to displayed attributes. Source: search §15, settings §4.1.

use std::borrow::Cow;

use super::json_scanner::{Event, Scanner, unquote};
use crate::fields::is_same_or_below;

/// Fields that are shown only on request.
pub(super) const HIDDEN: [&str; 1] = ["_vectors"];

/// A selection of a document's attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// All attributes.
    All,
    /// The named attributes with everything below them. Their parents are reduced to the named attributes.
    Paths(Vec<String>),
}

/// How much of a value is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Whole,
    Part,
    Nothing,
}

impl Selection {
    /// Selects the attributes in a list of names; `*` means all.
    pub fn of(names: &[String]) -> Self {
        if names.iter().any(|name| name == "*") { Self::All } else { Self::Paths(names.to_vec()) }
    }

    /// Returns the attributes in both selections.
    pub fn and(&self, other: &Self) -> Self {
        let (Self::Paths(some), Self::Paths(others)) = (self, other) else {
            return if *self == Self::All { other.clone() } else { self.clone() };
        };
        let mut paths = Vec::new();
        for a in some {
            for b in others {
                if is_same_or_below(b, a) {
                    paths.push(a.clone());
                } else if is_same_or_below(a, b) {
                    paths.push(b.clone());
                }
            }
        }
        Self::Paths(paths)
    }

    /// Returns the attributes in at least one of the selections.
    pub fn or(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Paths(mut some), Self::Paths(others)) => {
                some.extend(others.iter().cloned());
                Self::Paths(some)
            }
            _ => Self::All,
        }
    }

    /// Returns true if an attribute at or below `path` may be selected.
    pub fn meets(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => {
                paths.iter().any(|p| is_same_or_below(p, path) || is_same_or_below(path, p))
            }
        }
    }

    /// Returns true if the complete value at `path` is selected.
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => paths.iter().any(|p| is_same_or_below(p, path)),
        }
    }

    fn sees(&self, path: &str) -> Seen {
        let Self::Paths(paths) = self else { return Seen::Whole };
        if paths.iter().any(|p| p == path) {
            Seen::Whole
        } else if paths.iter().any(|p| is_same_or_below(path, p)) {
            Seen::Part
        } else {
            Seen::Nothing
        }
    }
}

/// A string, number, boolean or null to write.
pub(super) struct Leaf<'a> {
    /// The keys above it, joined by dots.
    pub path: &'a str,
    /// Its JSON text.
    pub raw: &'a str,
    /// Its index in each array above it, outermost first, counting only elements that are written.
    pub indices: &'a [usize],
}

/// An open array or object.
struct Frame {
    object: bool,
    whole: bool,
    /// Length of the output before it was opened. The output is cut to it if nothing inside is written.
    start: usize,
    written: bool,
    /// True if it has a member, written or not: an empty array or object is written.
    has_members: bool,
    path_len: usize,
}

/// Writes the selected part of `source`, without the top-level keys in `hidden`. `write_leaf` writes each leaf. Keys
/// and values keep their order and spelling.
pub(super) fn project(
    source: &str,
    selection: &Selection,
    hidden: &[&str],
    out: &mut Vec<u8>,
    mut write_leaf: impl FnMut(Leaf<'_>, &mut Vec<u8>),
) {
    let mut frames: Vec<Frame> = Vec::new();
    let mut indices: Vec<usize> = Vec::new();
    let mut path = String::new();
    let mut key: Option<&str> = None;
    let mut seen = Seen::Whole;
    // Number of open containers inside one that is not selected.
    let mut skipped = 0usize;
    for event in Scanner::new(source) {
        if skipped > 0 {
            match event {
                Event::OpenObject | Event::OpenArray => skipped += 1,
                Event::Close => skipped -= 1,
                Event::Key(_) | Event::Scalar(_) => {}
            }
            continue;
        }
        if let Some(frame) = frames.last_mut() {
            frame.has_members |= event != Event::Close;
        }
        let begins_a_value = matches!(event, Event::OpenObject | Event::OpenArray | Event::Scalar(_));
        if let Some(array) = frames.last().filter(|frame| begins_a_value && !frame.object) {
            if let Some(index) = indices.last_mut() {
                *index = index.wrapping_add(1);
            }
            seen = if array.whole { Seen::Whole } else { Seen::Part };
        }
        match event {
            Event::Key(raw) => {
                let Some(frame) = frames.last() else { continue };
                path.truncate(frame.path_len);
                if frame.path_len > 0 {
                    path.push('.');
                }
                path.push_str(&unquote(raw));
                key = Some(raw);
                seen = if frames.len() == 1 && hidden.contains(&path.as_str()) {
                    Seen::Nothing
                } else if frame.whole {
                    Seen::Whole
                } else {
                    selection.sees(&path)
                };
            }
            Event::Scalar(raw) => {
                let key = key.take();
                if seen == Seen::Whole {
                    begin_value(frames.last_mut(), key, out);
                    if let Some(frame) = frames.last_mut() {
                        frame.written = true;
                    }
                    write_leaf(Leaf { path: &path, raw, indices: &indices }, out);
                } else {
                    give_back(frames.last(), &mut indices);
                }
            }
            Event::OpenObject | Event::OpenArray => {
                let key = key.take();
                if seen == Seen::Nothing {
                    skipped = 1;
                    continue;
                }
                let object = event == Event::OpenObject;
                let start = out.len();
                begin_value(frames.last_mut(), key, out);
                out.push(if object { b'{' } else { b'[' });
                // The document itself counts as partial unless all attributes are selected.
                let whole =
                    if frames.is_empty() { *selection == Selection::All } else { seen == Seen::Whole };
                frames.push(Frame {
                    object,
                    whole,
                    start,
                    written: false,
                    has_members: false,
                    path_len: path.len(),
                });
                if !object {
                    indices.push(usize::MAX);
                }
            }
            Event::Close => {
                let Some(frame) = frames.pop() else { continue };
                if !frame.object {
                    indices.pop();
                }
                path.truncate(frame.path_len);
                if frame.whole || frame.written || !frame.has_members || frames.is_empty() {
                    out.push(if frame.object { b'}' } else { b']' });
                    if let Some(parent) = frames.last_mut() {
                        parent.written = true;
                    }
                } else {
                    out.truncate(frame.start);
                    give_back(frames.last(), &mut indices);
                }
            }
        }
    }
}

/// Takes back the index of an array element that is not written.
fn give_back(parent: Option<&Frame>, indices: &mut [usize]) {
    if let (Some(Frame { object: false, .. }), Some(index)) = (parent, indices.last_mut()) {
        *index = index.wrapping_sub(1);
    }
}

fn begin_value(frame: Option<&mut Frame>, key: Option<&str>, out: &mut Vec<u8>) {
    let Some(frame) = frame else { return };
    if frame.written {
        out.push(b',');
    }
    if let Some(key) = key {
        out.extend_from_slice(key.as_bytes());
        out.push(b':');
    }
}

/// Writes the selected part of `source`, with leaves unchanged.
pub(super) fn project_plain(source: &str, selection: &Selection, hidden: &[&str], out: &mut Vec<u8>) {
    // Most documents are written completely.
    let untouched = *selection == Selection::All && !hidden.iter().any(|key| source.contains(key));
    if untouched {
        out.extend_from_slice(source.trim().as_bytes());
        return;
    }
    project(source, selection, hidden, out, |leaf, out| out.extend_from_slice(leaf.raw.as_bytes()));
}

/// Returns the displayed part of `source`, to select from. Selecting one after the other keeps a key `a.b` hidden if only
/// `a` is displayed, which [`Selection::and`] cannot express.
pub(super) fn displayed_part<'s>(source: &'s str, displayed: &Selection, hidden: &[&str]) -> Cow<'s, str> {
    if *displayed == Selection::All {
        return Cow::Borrowed(source);
    }
    let mut part = Vec::new();
    project_plain(source, displayed, hidden, &mut part);
    Cow::Owned(String::from_utf8_lossy(&part).into_owned())
}

/// Returns the JSON text of the value of a top-level key.
pub(super) fn top_level<'j>(source: &'j str, wanted: &str) -> Option<&'j str> {
    if !source.contains(wanted) {
        return None;
    }
    let members: Vec<(Cow<'_, str>, &serde_json::value::RawValue)> = members(source)?;
    members.into_iter().rev().find(|(key, _)| key == wanted).map(|(_, value)| value.get())
}

fn members(source: &str) -> Option<Vec<(Cow<'_, str>, &serde_json::value::RawValue)>> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de serde_json::value::RawValue)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(key) = map.next_key::<String>()? {
                members.push((Cow::Owned(key), map.next_value()?));
            }
            Ok(members)
        }
    }
    serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(source), Members).ok()
}
