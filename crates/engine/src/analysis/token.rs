use std::borrow::Cow;

/// The role of a token in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Indexed and searchable.
    Word,
    /// Takes a position, but is not indexed.
    StopWord,
    /// Separator: the words on both sides are neighbours.
    Soft,
    /// Separator: the words on both sides are far apart.
    Hard,
}

impl TokenKind {
    /// Returns true for words and stop words.
    pub fn is_word(self) -> bool {
        matches!(self, Self::Word | Self::StopWord)
    }
}

/// The bytes of a token in its text, and its kind. The pieces of a text follow each other without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub start: u32,
    /// Byte after the last one.
    pub end: u32,
    /// Role in the index.
    pub kind: TokenKind,
}

/// Receives the pieces of a text, see [`Analyzer::pieces`](super::Analyzer::pieces).
pub trait TakePieces<'t> {
    /// Receives a piece whose text is not needed.
    fn pass(&mut self, piece: Piece);

    /// Receives a piece that may be wanted.
    fn take(&mut self, token: Token<'t>);
}

/// A normalised piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'t> {
    /// Normalised text.
    pub text: Cow<'t, str>,
    /// First byte in the original text.
    pub byte_start: usize,
    /// Byte after the last one in the original text.
    pub byte_end: usize,
    /// Role in the index.
    pub kind: TokenKind,
    /// For each original character, its bytes before and after normalisation. None if this was not recorded.
    pub char_map: Option<Vec<(u8, u8)>>,
}

impl Token<'_> {
    /// Returns true for words and stop words.
    pub fn is_word(&self) -> bool {
        self.kind.is_word()
    }

    /// Its bytes and kind.
    pub fn piece(&self) -> Piece {
        Piece { start: self.byte_start as u32, end: self.byte_end as u32, kind: self.kind }
    }

    /// Returns true if it separates words.
    pub fn is_separator(&self) -> bool {
        !self.is_word()
    }

    /// Counts the original bytes that became the first `normalised` bytes of [`Token::text`]. A character that is
    /// covered in part counts in full.
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
