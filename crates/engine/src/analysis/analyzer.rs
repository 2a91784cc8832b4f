use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};
use charabia::normalizer::{ClassifierOption, NormalizerOption};
use charabia::separators::DEFAULT_SEPARATORS;
use charabia::{Language, Normalize as _, Script, Segment as _, SeparatorKind};
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use unicode_normalization::UnicodeNormalization as _;

use super::locales::{FieldLocales, Locales};
use super::token::{TakePieces, Token, TokenKind};
use super::words::{Cutter, Dictionaries};
use super::{chinese, latin};
use crate::error::{Context, Result};
use crate::settings::Settings;

/// Cuts texts into tokens according to the settings of an index. Cheap to clone.
#[derive(Clone)]
pub struct Analyzer {
    rules: Arc<Rules>,
    dictionaries: Dictionaries,
    /// For highlighting: without stop words, and each normalised character can be traced back to the original.
    for_highlight: bool,
}

struct Rules {
    stop_words: Option<fst::Set<Vec<u8>>>,
    /// None: the default list of charabia, which is faster to search than a list of our own.
    separators: Option<Vec<String>>,
    /// Separators and dictionary words, cut out before anything else. None: the default separators of charabia.
    cuts: Option<AhoCorasick>,
    locales: FieldLocales,
}

/// Segments Japanese by dictionary. A call needs memory in proportion to its text.
static JAPANESE: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_dictionary(Default::default()));

impl Analyzer {
    /// Reads separators, dictionary, stop words and localized attributes.
    ///
    /// # Errors
    /// Internal, if the dictionary is too large for an automaton.
    pub fn new(settings: &Settings) -> Result<Self> {
        let separators = separators(settings);
        let dictionary = settings.dictionary.iter().map(String::as_str);
        let cuts = match (&separators, settings.dictionary.is_empty()) {
            (None, true) => None,
            (separators, _) => {
                let separators: Vec<&str> = match separators {
                    Some(list) => list.iter().map(String::as_str).collect(),
                    None => DEFAULT_SEPARATORS.to_vec(),
                };
                let patterns = dictionary.chain(separators).filter(|pattern| !pattern.is_empty());
                let cuts = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns);
                Some(cuts.context("the dictionary cannot be compiled")?)
            }
        };
        // Words are decomposed before they are compared. In Swedish some letters are not.
        let forms = |word: &String| [word.clone(), word.nfkd().collect()];
        let mut stop_words: Vec<String> = settings.stop_words.iter().flat_map(forms).collect();
        stop_words.sort_unstable();
        stop_words.dedup();
        let stop_words = if stop_words.is_empty() {
            None
        } else {
            Some(fst::Set::from_iter(stop_words).context("stop words cannot be compiled")?)
        };
        let locales = FieldLocales::new(settings.localized_attributes.as_deref().unwrap_or_default());
        let rules = Arc::new(Rules { stop_words, separators, cuts, locales });
        Ok(Self { rules, dictionaries: Dictionaries::default(), for_highlight: false })
    }

    /// Sets the dictionaries that cut texts of their languages.
    pub fn cutting_with(self, dictionaries: Dictionaries) -> Self {
        Self { dictionaries, ..self }
    }

    /// Memory of the rules in bytes, approximately.
    pub fn bytes(&self) -> usize {
        let Rules { stop_words, separators, cuts, locales } = &*self.rules;
        let texts = separators.iter().flatten().map(|text| size_of::<String>() + text.len());
        size_of::<Rules>()
            + stop_words.as_ref().map_or(0, |words| words.as_fst().as_bytes().len())
            + texts.sum::<usize>()
            + cuts.as_ref().map_or(0, AhoCorasick::memory_usage)
            + locales.bytes()
    }

    /// The same analyzer without stop words. Its tokens record which original bytes each character came from.
    pub fn for_highlight(&self) -> Self {
        Self { for_highlight: true, ..self.clone() }
    }

    /// The languages of `field`: those of the first localized rule that matches it.
    pub fn locales_of(&self, field: &str) -> Locales<'_> {
        self.rules.locales.of(field)
    }

    /// All tokens of `text`, separators included.
    pub fn tokens<'t>(&self, text: &'t str, locales: Locales<'_>) -> Vec<Token<'t>> {
        // On average a word has five letters and a separator one.
        let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
        self.each(text, locales, |token| tokens.push(token));
        tokens
    }

    /// Passes the tokens of `text` to `take`, in order.
    pub fn each<'t>(&self, text: &'t str, locales: Locales<'_>, take: impl FnMut(Token<'t>)) {
        if !self.is_plain(text, locales) {
            return self.each_by_script(text, locales, take);
        }
        let normalize = |lemma, byte_start| self.latin_token(lemma, byte_start);
        match self.stop_words() {
            Some(set) => latin::each(text, |word| set.contains(word), normalize, take),
            None => latin::each(text, |_| false, normalize, take),
        }
    }

    /// Passes the pieces of `text` to `taker`. A word whose normalised text begins with a wanted byte is always taken
    /// as a token; other pieces may be taken too.
    pub fn pieces<'t>(
        &self,
        text: &'t str,
        locales: Locales<'_>,
        is_wanted: impl Fn(u8) -> bool,
        taker: &mut impl TakePieces<'t>,
    ) {
        if self.stop_words().is_some() || !self.is_plain(text, locales) {
            return self.each(text, locales, |token| taker.take(token));
        }
        latin::pieces(text, is_wanted, |lemma, byte_start| self.latin_token(lemma, byte_start), taker);
    }

    /// Returns true if [`latin`] cuts `text` correctly under these rules.
    fn is_plain(&self, text: &str, locales: Locales<'_>) -> bool {
        self.rules.cuts.is_none() && locales.is_none() && latin::is_latin(text)
    }

    /// Turns a piece of a Latin text into a token.
    fn latin_token<'t>(&self, lemma: &'t str, byte_start: usize) -> Token<'t> {
        let token = charabia::Token {
            lemma: Cow::Borrowed(lemma),
            byte_start,
            byte_end: byte_start + lemma.len(),
            script: Script::Latin,
            ..charabia::Token::default()
        };
        convert(token.normalize(&self.options(None)))
    }

    /// Like [`each`](Self::each), for any text and any settings.
    pub(super) fn each_by_script<'t>(
        &self,
        text: &'t str,
        locales: Locales<'_>,
        mut take: impl FnMut(Token<'t>),
    ) {
        let separators: Option<Vec<&str>> =
            self.rules.separators.as_ref().map(|list| list.iter().map(String::as_str).collect());
        let options = self.options(separators.as_deref());
        // An empty list means that charabia knows no language of the rule: then none is preferred.
        let locales = locales.filter(|languages| !languages.is_empty());
        let [mut japanese, mut korean] =
            ["jpn", "kor"].map(|language| self.dictionaries.get(language).map(Cutter::new));
        for segment in text.segment_with_option(self.rules.cuts.as_ref(), locales) {
            if is_korean(&segment)
                && let Some(cutter) = &mut korean
            {
                for piece in cut_by_dictionary(segment, cutter) {
                    take(convert(piece.normalize(&options)));
                }
            } else if is_japanese(&segment) {
                let pieces = match &mut japanese {
                    Some(cutter) => cut_by_dictionary(segment, cutter),
                    None => cut_japanese(segment),
                };
                for piece in pieces {
                    take(convert(piece.normalize(&options)));
                }
            } else {
                chinese::note(&segment);
                take(convert(segment.normalize(&options)));
            }
        }
    }

    fn stop_words(&self) -> Option<&fst::Set<Vec<u8>>> {
        self.rules.stop_words.as_ref().filter(|_| !self.for_highlight)
    }

    /// How charabia normalises. `separators` of None stands for its default list.
    fn options<'o>(&'o self, separators: Option<&'o [&'o str]>) -> NormalizerOption<'o> {
        let stop_words = self.stop_words().and_then(|set| fst::Set::new(set.as_fst().as_bytes()).ok());
        let classifier = ClassifierOption { stop_words, separators };
        NormalizerOption { create_char_map: self.for_highlight, classifier, lossy: true }
    }
}

/// Returns true for text that needs [`JAPANESE`]: charabia is built without its Japanese dictionary and does not cut
/// it.
fn is_japanese(segment: &charabia::Token<'_>) -> bool {
    segment.script == Script::Cj
        && segment.language == Some(Language::Jpn)
        && segment.lemma.chars().nth(1).is_some()
        && !segment.lemma.is_ascii()
}

fn is_korean(segment: &charabia::Token<'_>) -> bool {
    segment.script == Script::Hangul && segment.lemma.chars().nth(1).is_some() && !segment.lemma.is_ascii()
}

fn cut_japanese<'t>(segment: charabia::Token<'t>) -> Vec<charabia::Token<'t>> {
    let Cow::Borrowed(text) = segment.lemma else { return vec![segment] };
    let ends: Vec<usize> = JAPANESE.segment_str(text).skip(1).collect();
    cut_at(&segment, text, &ends)
}

fn cut_by_dictionary<'t>(segment: charabia::Token<'t>, cutter: &mut Cutter<'_>) -> Vec<charabia::Token<'t>> {
    let Cow::Borrowed(text) = segment.lemma else { return vec![segment] };
    let mut ends = Vec::new();
    cutter.each(text, |end| ends.push(end));
    cut_at(&segment, text, &ends)
}

/// Cuts a segment into pieces that end at `ends`.
fn cut_at<'t>(segment: &charabia::Token<'t>, text: &'t str, ends: &[usize]) -> Vec<charabia::Token<'t>> {
    let mut start = 0;
    let pieces = ends.iter().map(|&end| {
        let piece = charabia::Token {
            lemma: Cow::Borrowed(&text[start..end]),
            byte_start: segment.byte_start + start,
            byte_end: segment.byte_start + end,
            ..segment.clone()
        };
        start = end;
        piece
    });
    pieces.collect()
}

fn convert<'t>(token: charabia::Token<'t>) -> Token<'t> {
    let kind = match token.kind {
        charabia::TokenKind::Separator(SeparatorKind::Hard) => TokenKind::Hard,
        charabia::TokenKind::Separator(SeparatorKind::Soft) => TokenKind::Soft,
        charabia::TokenKind::StopWord => TokenKind::StopWord,
        charabia::TokenKind::Word | charabia::TokenKind::Unknown => TokenKind::Word,
    };
    Token {
        text: token.lemma,
        byte_start: token.byte_start,
        byte_end: token.byte_end,
        kind,
        char_map: token.char_map,
    }
}

/// The default separators, with those of the settings added or removed. None if the settings change nothing.
fn separators(settings: &Settings) -> Option<Vec<String>> {
    if settings.separator_tokens.is_empty() && settings.non_separator_tokens.is_empty() {
        return None;
    }
    let removed: HashSet<&str> = settings.non_separator_tokens.iter().map(String::as_str).collect();
    let added = settings.separator_tokens.iter().map(String::as_str);
    let all = DEFAULT_SEPARATORS.iter().copied().chain(added);
    Some(all.filter(|token| !removed.contains(token)).map(str::to_owned).collect())
}
