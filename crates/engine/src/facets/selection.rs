//! The keys of cached selections of documents by a field.

use std::ops::Bound;

use equivalent::Equivalent;
use roaring::RoaringBitmap;

use crate::cache::cached;
use crate::store::bitmap_bytes;
use crate::store::schema::Presence;

cached! {
    // Documents of a segment, including deleted ones.
    pub(super) Selections: Selection<Box<str>> => RoaringBitmap, |selection, docs| {
        selection.bytes() + bitmap_bytes(docs)
    };
}

/// A condition for documents of a segment. Numbers are bits of floats.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Selection<T> {
    /// A property of a path.
    Presence(Presence, T),
    /// Strings at a path between two normalised texts.
    Strings(T, Bound<T>, Bound<T>),
    /// Numbers at a path between two numbers, both included.
    Numbers(T, u64, u64),
    /// Strings at a path that contain a normalised text.
    Contains(T, T),
    /// Strings at a path that begin with a normalised text.
    StartsWith(T, T),
    /// Values at a path that equal one of several texts.
    OneOf(T, Box<[T]>),
    /// Points within a distance of a point: bits of latitude, longitude and metres.
    Radius([u64; 3]),
    /// Shapes that meet a region; see `Region::key`.
    Meeting(Box<[u64]>),
}

impl<T> Selection<T> {
    /// Returns the same selection with converted texts.
    fn map<'t, U>(&'t self, text: impl Fn(&'t T) -> U) -> Selection<U> {
        match self {
            Self::Presence(kind, path) => Selection::Presence(*kind, text(path)),
            Self::Strings(path, from, to) => {
                Selection::Strings(text(path), from.as_ref().map(&text), to.as_ref().map(&text))
            }
            Self::Numbers(path, low, high) => Selection::Numbers(text(path), *low, *high),
            Self::Contains(path, part) => Selection::Contains(text(path), text(part)),
            Self::StartsWith(path, prefix) => Selection::StartsWith(text(path), text(prefix)),
            Self::OneOf(path, texts) => Selection::OneOf(text(path), texts.iter().map(&text).collect()),
            Self::Radius(circle) => Selection::Radius(*circle),
            Self::Meeting(region) => Selection::Meeting(region.clone()),
        }
    }
}

impl Selection<&str> {
    /// Returns the same selection with owned texts.
    pub fn to_owned(&self) -> Selection<Box<str>> {
        self.map(|text| Box::from(*text))
    }
}

impl Selection<Box<str>> {
    fn bytes(&self) -> usize {
        let bound = |bound: &Bound<Box<str>>| match bound {
            Bound::Included(text) | Bound::Excluded(text) => text.len(),
            Bound::Unbounded => 0,
        };
        match self {
            Self::Presence(_, path) | Self::Numbers(path, ..) => path.len(),
            Self::Strings(path, from, to) => path.len() + bound(from) + bound(to),
            Self::Contains(path, text) | Self::StartsWith(path, text) => path.len() + text.len(),
            Self::OneOf(path, texts) => {
                path.len() + texts.iter().map(|text| size_of::<Box<str>>() + text.len()).sum::<usize>()
            }
            Self::Radius(_) => 0,
            Self::Meeting(region) => 8 * region.len(),
        }
    }
}

impl Equivalent<Selection<Box<str>>> for Selection<&str> {
    fn equivalent(&self, key: &Selection<Box<str>>) -> bool {
        *self == key.map(|text| &**text)
    }
}
