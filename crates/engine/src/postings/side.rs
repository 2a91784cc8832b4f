//! The two sides of a pair of words whose distance is asked for, and their order.

/// One side of a pair: a word, or all words with one prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Side {
    /// The word itself.
    Word(Box<str>),
    /// All words that begin with it.
    Prefix(Box<str>),
}

impl Side {
    /// The word or the prefix.
    pub(super) fn text(&self) -> &str {
        let (Self::Word(text) | Self::Prefix(text)) = self;
        text
    }
}

/// In which orders two sides are compared. A caller that needs both orders reads the lists once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// The left side before the right one.
    Forward,
    /// The left side before the right one, and the right one before the left one.
    Both,
}

impl Orders {
    /// For each order, whether the left side comes first.
    pub(super) fn left_comes_first(self) -> &'static [bool] {
        match self {
            Self::Forward => &[true],
            Self::Both => &[true, false],
        }
    }
}
