//! 1. Words take one position each, hard separators seven more; stop words take a position but are no term.
//! 2. The last token is unfinished if it is a word; anything after it finishes it.
//! 3. A quotation mark opens a phrase. Another one, a hard separator or the end closes it.
//! 4. A minus at the start or after white space excludes the word or phrase that follows it directly.
//! 5. At most ten terms and a thousand tokens are read.

use serde_json::json;

use super::corpus::{Corpus, ask};
use crate::analysis::{Analyzer, StopWordLists};
use crate::query::{ParsedQuery, TermText};
use crate::settings::Settings;

/// Draws terms as `word@position`, unfinished ones with `*`, phrases in brackets; then excluded words and phrases.
fn draw(q: &str, stop_words: &[&str]) -> String {
    let stop_words = stop_words.iter().map(|word| (*word).to_owned()).collect();
    let analyzer = Analyzer::new(&Settings { stop_words, ..Settings::default() }).unwrap();
    let query = ParsedQuery::parse(&analyzer.tokens(q, None), true, 10, &StopWordLists::default());
    let phrase = |slots: &[Option<String>]| -> String {
        let words: Vec<&str> = slots.iter().map(|slot| slot.as_deref().unwrap_or("_")).collect();
        format!("[{}]", words.join(" "))
    };
    let terms = query.terms.iter().map(|term| {
        let (start, end) = term.positions.clone().into_inner();
        match &term.text {
            TermText::Word { word, unfinished } => {
                format!("{word}{}@{start}", if *unfinished { "*" } else { "" })
            }
            TermText::Phrase(slots) => format!("{}@{start}-{end}", phrase(slots)),
        }
    });
    let words = query.negative_words.iter().map(|word| format!("-{word}"));
    let phrases = query.negative_phrases.iter().map(|slots| format!("-{}", phrase(slots)));
    terms.chain(words).chain(phrases).collect::<Vec<_>>().join(" ")
}

#[test]
fn queries_are_parsed_into_the_expected_terms() {
    for (q, expected) in [
        ("amber stone", "amber@0 stone*@1"),
        ("amber stone ", "amber@0 stone@1"),
        ("amber stone.", "amber@0 stone@1"),
        ("lyon, france", "lyon@0 france*@8"),
        ("; lyon", "lyon*@7"),
        (r#""roasted garlic" -bread soup"#, "[roasted garlic]@0-1 soup*@3 -bread"),
        ("well-made", "well@0 made*@1"),
        ("stone - amber", "stone@0 amber*@1"),
        ("stone -", "stone@0"),
        (r#""big, bad bear"#, "[big]@0-0 [bad bear]@8-9"),
        (r#"-"cold tea" cake"#, "cake*@2 -[cold tea]"),
        (r#"-"cold, tea" cake"#, "cake*@9 -[cold] -[tea]"),
        (r#""amber" "stone""#, "[amber]@0-0 [stone]@1-1"),
        (r#""" amber"#, "amber*@0"),
        ("-amber -stone", "-amber -stone"),
        ("-amber. -stone", "-amber -stone"),
        ("amber.-stone", "amber@0 stone*@1"),
        ("", ""),
        ("?!", ""),
    ] {
        assert_eq!(draw(q, &[]), expected, "{q:?}");
    }
}

#[test]
fn stop_words_take_a_position_but_are_no_term() {
    for (q, expected) in [
        ("king of the hills", "king@0 hills*@3"),
        ("of the", "the*@1"),
        ("the ", ""),
        (r#""king of the hills""#, "[king _ _ hills]@0-3"),
        (r#""of the" king"#, "king*@2"),
        ("-of king", "king*@1 -of"),
    ] {
        assert_eq!(draw(q, &["of", "the"]), expected, "{q:?}");
    }
}

#[test]
fn ten_terms_are_read() {
    assert_eq!(draw("a b c d e f g h i j k", &[]), "a@0 b@1 c@2 d@3 e@4 f@5 g@6 h@7 i@8 j@9");
    let long = "stone ".repeat(100_000);
    assert_eq!(draw(&long, &[]).split(' ').count(), 10);
    let ruled_out = "-stone ".repeat(100_000);
    assert!(draw(&ruled_out, &[]).split(' ').count() <= 1000);
}

#[test]
fn excluded_words_exclude_only_exact_matches() {
    let corpus = Corpus::of_texts(
        json!({}),
        &["amber stone shop", "stone amber shop", "amber bowl with stone", "amber shop", "ambers and stones"],
    );
    corpus.expect("amber -stone", &[(4, 0.984848), (5, 0.462121)]);
    corpus.expect_ids(&ask(r#"amber -"bowl with""#), &[1, 4, 2, 5]);
    assert!(corpus.answer(&ask("amber -stone")).used_negative_operator);
    assert!(!corpus.answer(&ask("amber stone")).used_negative_operator);
}

#[test]
fn a_query_without_words_matches_everything() {
    let corpus = Corpus::of_texts(json!({"stopWords": ["the"]}), &["tea", "cake", "tea cake"]);
    corpus.expect("", &[(1, 1.0), (2, 1.0), (3, 1.0)]);
    corpus.expect("  the ", &[(1, 1.0), (2, 1.0), (3, 1.0)]);
    corpus.expect("-tea", &[(2, 1.0)]);
    assert_eq!(corpus.answer(&ask("tea cake")).terms, 2);
}

#[test]
fn hostile_queries_are_answered() {
    let corpus = Corpus::of_texts(json!({}), &["amber stone shop", "a b c d e f g h i j"]);
    let long_word = "x".repeat(10_000);
    let medium_words = vec!["y".repeat(80); 10].join(" ");
    let quotes = "\"".repeat(5_000);
    let minuses = "-".repeat(5_000);
    for q in ["\0", "\u{10FFFF}", "a\u{300}\u{300}", &long_word, &medium_words, &quotes, &minuses] {
        corpus.answer(&ask(q));
    }
    corpus.expect_ids(&ask("a b c d e f g h i j"), &[2]);
    corpus.expect_ids(&ask(&format!("amber {long_word}")), &[1]);
}
