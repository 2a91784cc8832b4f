//! What is looked for near what: the two sides of a pair of words, and their order.

/// A word, or all words with one beginning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Side {
    /// The word itself.
    Word(Box<str>),
    /// What begins with it.
    Prefix(Box<str>),
}

/// In which orders two sides are looked for. A caller that needs both orders reads the lists once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// The left one before the right one.
    Forward,
    /// The other way round as well.
    Both,
}

impl Orders {
    /// Whether the left side comes first, in each of them.
    pub(super) fn left_comes_first(self) -> &'static [bool] {
        match self {
            Self::Forward => &[true],
            Self::Both => &[true, false],
        }
    }
}
