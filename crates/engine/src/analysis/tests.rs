use super::*;
use crate::settings::{LocalizedRule, Settings};

/// Draws words as they are, stop words in `<>`, soft separators as `~`, hard ones as `#`.
fn draw(settings: &Settings, text: &str) -> String {
    draw_in(settings, text, None)
}

fn draw_in(settings: &Settings, text: &str, locales: Locales<'_>) -> String {
    let analyzer = Analyzer::new(settings).unwrap();
    let tokens = analyzer.tokens(text, locales);
    let drawn: Vec<String> = tokens
        .iter()
        .map(|token| match token.kind {
            TokenKind::Word => token.text.to_string(),
            TokenKind::StopWord => format!("<{}>", token.text),
            TokenKind::Soft => "~".to_owned(),
            TokenKind::Hard => "#".to_owned(),
        })
        .collect();
    drawn.join(" ")
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|item| (*item).to_owned()).collect()
}

#[test]
fn texts_are_cut_and_normalised_into_the_expected_tokens() {
    let cases = [
        ("Wi-Fi 6E, router! Tri_band", "wi ~ fi ~ 6e # router # ~ tri ~ band"),
        ("Dr. Strange: 3.5 stars", "dr # strange ~ ~ 3 ~ 5 ~ stars"),
        ("L’Été—café", "l ~ ete ~ cafe"),
        ("C++ and C#, 24/7", "c ~ ~ ~ and ~ c ~ # 24 ~ 7"),
        ("wait... what? ok", "wait ~ ~ # what # ~ ok"),
        ("$5 x<y a=b user@mail.com", "$5 ~ x<y ~ a=b ~ user ~ mail ~ com"),
        ("a…b", "a ... b"),
        ("Đà Nẵng", "da ~ nang"),
        ("İzmir", "izmir"),
        ("Straße", "straße"),
        ("Łódź", "łodz"),
        ("ΟΔΟΣ", "οδοσ"),
        ("Œuvre", "oeuvre"),
        ("المدرسة", "ال مدرسه"),
        ("räksmörgås", "raksmorgas"),
        ("snake_case camelCase", "snake ~ case ~ camelcase"),
        ("a\u{a0}b", "a b"),
        ("ＡＢＣ", "ABC"),
        ("国 說", "國 ~ 說"),
        ("國 説", "國 ~ 說"),
        ("汉字", "汉字"),
        ("", ""),
        ("  ", "~ ~"),
    ];
    for (text, expected) in cases {
        assert_eq!(draw(&Settings::default(), text), expected, "{text:?}");
    }
}

#[test]
fn cyrillic_accents_stay_decomposed() {
    assert_eq!(draw(&Settings::default(), "Ёлка"), "е\u{308}лка");
}

#[test]
fn an_underscore_can_be_made_part_of_words() {
    let settings = Settings { non_separator_tokens: strings(&["_"]), ..Settings::default() };
    assert_eq!(draw(&settings, "snake_case camelCase, b"), "snake_case ~ camelcase # b");
}

#[test]
fn a_separator_can_be_added() {
    let settings = Settings { separator_tokens: strings(&["~"]), ..Settings::default() };
    assert_eq!(draw(&settings, "gin&tonic~soda"), "gin ~ tonic ~ soda");
    assert_eq!(draw(&Settings::default(), "gin&tonic~soda"), "gin ~ tonic~soda");
}

#[test]
fn dictionary_entries_are_never_split() {
    let settings = Settings { dictionary: strings(&["J. R. R."]), ..Settings::default() };
    assert_eq!(draw(&settings, "\"J. R. R. Tolkien\""), "~ j. r. r. ~ tolkien ~");
    assert_eq!(draw(&Settings::default(), "\"J. R. R. Tolkien\""), "~ j # r # r # tolkien ~");
}

#[test]
fn stop_words_match_before_lower_casing() {
    let settings = Settings { stop_words: strings(&["the"]), ..Settings::default() };
    assert_eq!(draw(&settings, "Stop the world. The end"), "stop ~ <the> ~ world # the ~ end");
}

#[test]
fn swedish_keeps_its_vowels_under_a_localized_rule() {
    let rule = LocalizedRule { attribute_patterns: strings(&["*_sv"]), locales: strings(&["swe"]) };
    let settings = Settings { localized_attributes: Some(vec![rule]), ..Settings::default() };
    let analyzer = Analyzer::new(&settings).unwrap();
    let word = |field: &str| analyzer.tokens("räksmörgås", analyzer.locales_of(field))[0].text.to_string();
    assert_eq!(word("title_sv"), "räksmörgås");
    assert_eq!(word("title"), "raksmorgas");
}

#[test]
fn japanese_is_split_into_words() {
    let japanese = parse_locales(&["jpn"]);
    let drawn = draw_in(&Settings::default(), "東京都に住む", Some(&japanese));
    assert!(drawn.starts_with("東京 "), "{drawn}");
    assert_eq!(draw_in(&Settings::default(), "カタカナ", Some(&japanese)), "かたかな");
}

#[test]
fn pieces_follow_each_other_without_gaps() {
    let analyzer = Analyzer::new(&Settings::default()).unwrap();
    for text in ["L’Été—café!  東京都に住む 24/7", "ﬁn ½ ￼", "สวัสดีชาวโลก"]
    {
        for locales in [None, Some(&[Language::Jpn][..])] {
            let mut end = 0;
            for token in analyzer.tokens(text, locales) {
                assert_eq!(token.byte_start, end);
                end = token.byte_end;
            }
            assert_eq!(end, text.len());
        }
    }
}

#[test]
fn a_prefix_maps_to_complete_original_characters() {
    let analyzer = Analyzer::new(&Settings::default()).unwrap().for_highlight();
    let tokens = analyzer.tokens("Éluard", None);
    assert_eq!(tokens[0].text, "eluard");
    assert_eq!(tokens[0].original_bytes(1), "É".len());
    assert_eq!(tokens[0].original_bytes(2), "Él".len());
    assert_eq!(tokens[0].original_bytes(6), "Éluard".len());
}

#[test]
fn highlighting_ignores_stop_words() {
    let settings = Settings { stop_words: strings(&["the"]), ..Settings::default() };
    let analyzer = Analyzer::new(&settings).unwrap().for_highlight();
    assert_eq!(analyzer.tokens("the", None)[0].kind, TokenKind::Word);
}

#[test]
fn facet_values_keep_accents_and_facet_search_drops_them() {
    assert_eq!(normalize_facet("  Été "), "e\u{301}te\u{301}");
    assert_eq!(normalize_facet("ÀÉ x"), "a\u{300}e\u{301} x");
    assert_eq!(normalize_facet("BLUE Car"), "blue car");
    for (text, normalised) in [
        ("Été Noir", "ete noir"),
        ("ＡＢＣ", "abc"),
        ("ガンダム RX-78 Gundam", "か\u{3099}んた\u{3099}む rx-78 gundam"),
        ("Ёлка Noël", "е\u{308}лка noel"),
        ("Đà Nẵng в России", "da nang в россии"),
        ("ΟΔΟΣ, alpha", "οδοσ, alpha"),
        ("12 ", "12 "),
    ] {
        assert_eq!(normalize_facet_search(text, None), normalised);
    }
}

/// Returns a token, and the number of original bytes for each prefix of its text, with or without a recorded map.
fn traced(token: &Token<'_>) -> (Token<'static>, Vec<usize>) {
    let text = token.text.clone().into_owned();
    let beginnings = (0..=text.len()).filter(|end| text.is_char_boundary(*end));
    let original = beginnings.map(|end| token.original_bytes(end)).collect();
    let (text, char_map) = (text.into(), None);
    (Token { text, char_map, ..*token }, original)
}

#[derive(Default)]
struct Seen<'t> {
    pieces: Vec<Piece>,
    tokens: Vec<Token<'t>>,
}

impl<'t> TakePieces<'t> for Seen<'t> {
    fn pass(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    fn take(&mut self, token: Token<'t>) {
        self.pieces.push(token.piece());
        self.tokens.push(token);
    }
}

proptest::proptest! {
    #[test]
    fn latin_texts_give_the_same_tokens_as_the_general_path(
        text in r"([A-Za-z0-9]{1,6}|[ -~\t\n\r]|[.,!?] |the|The|und der Die|[\u{80}-\u{24f}]|[\u{2010}-\u{205f}]|é|’|œuvre|[а-я東]){0,24}",
        stop in proptest::bool::ANY,
        wanted in proptest::collection::vec(b'a'..=b'z', 0..4),
    ) {
        let stop_words = ["the", "der", "a", "B", "7", " ", ". ", "é", "e\u{301}", "’", "'", "..."];
        let stop_words = if stop { strings(&stop_words) } else { Vec::new() };
        let analyzer = Analyzer::new(&Settings { stop_words, ..Settings::default() }).unwrap();
        let mut by_script = Vec::new();
        analyzer.each_by_script(&text, None, |token| by_script.push(token));
        proptest::prop_assert_eq!(analyzer.tokens(&text, None), by_script);

        let (unlike, analyzer) = (analyzer.clone(), analyzer.for_highlight());
        let mut by_script = Vec::new();
        analyzer.each_by_script(&text, None, |token| by_script.push(traced(&token)));
        let traced: Vec<_> = analyzer.tokens(&text, None).iter().map(traced).collect();
        proptest::prop_assert_eq!(traced, by_script);

        for analyzer in [analyzer, unlike] {
            let is_wanted = |byte| wanted.contains(&byte);
            let mut seen = Seen::default();
            analyzer.pieces(&text, None, is_wanted, &mut seen);
            let tokens = analyzer.tokens(&text, None);
            let pieces: Vec<_> = tokens.iter().map(Token::piece).collect();
            proptest::prop_assert_eq!(seen.pieces, pieces);
            proptest::prop_assert!(seen.tokens.iter().all(|token| tokens.contains(token)));
            let mut have_to_come =
                tokens.iter().filter(|token| token.is_word() && token.text.bytes().next().is_some_and(is_wanted));
            proptest::prop_assert!(have_to_come.all(|token| seen.tokens.contains(token)));
        }
    }
}
