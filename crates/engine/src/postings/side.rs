//! The two sides of a pair of words, and their order.

/// A side of a pair: a word, or all words with a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Side {
    /// The word itself.
    Word(Box<str>),
    /// All words with this prefix.
    Prefix(Box<str>),
}

impl Side {
    /// Returns the word or the prefix.
    pub(super) fn text(&self) -> &str {
        let (Self::Word(text) | Self::Prefix(text)) = self;
        text
    }
}

/// The orders in which two sides are compared. For both orders, the lists are read only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// The left side before the right one.
    Forward,
    /// Both sides in either order.
    Both,
}

impl Orders {
    /// Returns, for each order, true if the left side is first.
    pub(super) fn left_comes_first(self) -> &'static [bool] {
        match self {
            Self::Forward => &[true],
            Self::Both => &[true, false],
        }
    }
}
