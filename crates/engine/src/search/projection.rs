//! Here is a stored document: which part of it is shown? Source: search §15, settings §4.1.

use std::borrow::Cow;

use super::json_scanner::{Event, Scanner, unquote};
use crate::fields::is_same_or_below;

/// Fields that are shown only on request.
pub(super) const HIDDEN: [&str; 1] = ["_vectors"];

/// The attributes of a document that are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// All attributes.
    All,
    /// The named attributes with everything below them; parents hold only named attributes.
    Paths(Vec<String>),
}

/// How much of a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Whole,
    Part,
    Nothing,
}

impl Selection {
    /// The attributes of a list of names; `*` stands for all.
    pub fn of(names: &[String]) -> Self {
        if names.iter().any(|name| name == "*") { Self::All } else { Self::Paths(names.to_vec()) }
    }

    /// The attributes that both selections show.
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

    /// The attributes that at least one of both selections shows.
    pub fn or(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Paths(mut some), Self::Paths(others)) => {
                some.extend(others.iter().cloned());
                Self::Paths(some)
            }
            _ => Self::All,
        }
    }

    /// Whether an attribute at or below `path` may be shown.
    pub fn meets(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => {
                paths.iter().any(|p| is_same_or_below(p, path) || is_same_or_below(path, p))
            }
        }
    }

    /// Whether the whole value at `path` is shown.
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

/// A string, number, boolean or null that is written.
pub(super) struct Leaf<'a> {
    /// The keys that lead to it, joined by dots.
    pub path: &'a str,
    /// Its JSON text.
    pub raw: &'a str,
    /// Its index in each array that leads to it, outermost first, counted among the elements that are written.
    pub indices: &'a [usize],
}

/// An open array or object.
struct Frame {
    object: bool,
    whole: bool,
    /// Length of the output before it was opened, to which the output is cut if nothing in it is shown.
    start: usize,
    written: bool,
    /// Whether it has any member, shown or not: an empty array or object is shown.
    has_members: bool,
    path_len: usize,
}

/// Writes the part of `source` that `selection` shows, without the top-level keys in `hidden`; `write_leaf` writes each
/// leaf. Keys and values stay in their order and spelling.
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
    // The number of open containers inside one that is not shown.
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
                // The document itself is shown in part unless all attributes are shown.
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

/// Takes the index of an array's element back that is not written.
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

/// Writes the part of `source` that `selection` shows, with leaves as they are.
pub(super) fn project_plain(source: &str, selection: &Selection, hidden: &[&str], out: &mut Vec<u8>) {
    // Most documents are shown whole.
    let untouched = *selection == Selection::All && !hidden.iter().any(|key| source.contains(key));
    if untouched {
        out.extend_from_slice(source.trim().as_bytes());
        return;
    }
    project(source, selection, hidden, out, |leaf, out| out.extend_from_slice(leaf.raw.as_bytes()));
}

/// The JSON text of the value of a top-level key.
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
