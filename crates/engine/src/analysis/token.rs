use std::borrow::Cow;

/// What a token is to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Indexed and searched.
    Word,
    /// Takes a position, is not indexed.
    StopWord,
    /// Words on both sides are neighbours.
    Soft,
    /// Words on both sides are far apart.
    Hard,
}

impl TokenKind {
    /// Whether it is a word, stop words included.
    pub fn is_word(self) -> bool {
        matches!(self, Self::Word | Self::StopWord)
    }
}

/// Where a token lies in its text, in bytes, and what it is. The pieces of a text follow each other without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last one.
    pub end: u32,
    /// What it is to the index.
    pub kind: TokenKind,
}

/// Takes the pieces of a text, see [`Analyzer::pieces`](super::Analyzer::pieces).
pub trait TakePieces<'t> {
    /// A piece whose text no caller reads.
    fn pass(&mut self, piece: Piece);

    /// A piece that may be wanted.
    fn take(&mut self, token: Token<'t>);
}

/// A piece of a text, normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'t> {
    /// Normalised.
    pub text: Cow<'t, str>,
    /// First byte in the original text.
    pub byte_start: usize,
    /// Byte after the last one in the original text.
    pub byte_end: usize,
    /// What it is to the index.
    pub kind: TokenKind,
    /// Bytes of each original character, and of what it became; None if nothing was recorded.
    pub char_map: Option<Vec<(u8, u8)>>,
}

impl Token<'_> {
    /// Whether it is a word, stop words included.
    pub fn is_word(&self) -> bool {
        self.kind.is_word()
    }

    /// Where it lies.
    pub fn piece(&self) -> Piece {
        Piece { start: self.byte_start as u32, end: self.byte_end as u32, kind: self.kind }
    }

    /// Whether it parts words.
    pub fn is_separator(&self) -> bool {
        !self.is_word()
    }

    /// Bytes of the original text that became the first `normalised` bytes of [`Token::text`]. A character
    /// that is covered in part is covered whole.
    pub fn original_bytes(&self, normalised: usize) -> usize {
        match &self.char_map {
            Some(map) => {
                let mut covered = 0;
                map.iter()
                    .take_while(|(_, after)| {
                        let within = covered < normalised;
                        covered += usize::from(*after);
                        within
                    })
                    .map(|(before, _)| usize::from(*before))
                    .sum()
            }
            None => {
                let chars = self.text.char_indices().take_while(|(start, _)| *start < normalised);
                chars.last().map_or(0, |(start, char)| start + char.len_utf8())
            }
        }
    }
}
