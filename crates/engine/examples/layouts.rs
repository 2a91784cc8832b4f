//! Measures the costs and search times of layouts of words. Source of docs/decisions/0002. Run it with:
//!
//! `cargo run -p siftd-engine --example layouts -- DOCUMENTS.ndjson`
//!
//! Indexes the strings of flat documents in memory, once for each layout, on one thread. Prints the bytes of the
//! dictionary, of postings and of positions, the indexing time, and the median times of finding words by a typo and of
//! finding the documents of frequent words in one attribute.

use std::collections::BTreeMap;
use std::time::Instant;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use serde_json::{Map, Value as Json};
use siftd_engine::analysis::{Analyzer, TokenKind};
use siftd_engine::settings::Settings;
use tantivy::directory::RamDirectory;
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, RawTokenizer, Token};
use tantivy::{DocSet, Index, IndexWriter, SegmentReader, TERMINATED, TantivyDocument};
use tantivy_fst::Automaton;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    /// token ‖ 0 ‖ attribute
    WordFirst,
    /// attribute ‖ 0 ‖ token
    AttributeFirst,
    /// token; the attribute in the upper bits of the position
    AttributeInPosition,
    /// As `WordFirst`, with prefixes of one to four letters as separate terms, and bucketed positions.
    WithPrefixes,
}

const LAYOUTS: [Layout; 4] =
    [Layout::WordFirst, Layout::AttributeFirst, Layout::AttributeInPosition, Layout::WithPrefixes];

fn main() {
    let path = std::env::args().nth(1).expect("usage: layouts DOCUMENTS.ndjson");
    let text = std::fs::read_to_string(path).expect("the documents can be read");
    let analyzer = Analyzer::new(&Settings::default()).expect("default settings are sound");
    let mut attributes = Vec::new();
    let documents: Vec<Words> = text.lines().map(|line| words(line, &analyzer, &mut attributes)).collect();
    println!("layout dictionary postings positions seconds typo-us docs-us");
    for layout in LAYOUTS {
        measure(layout, &documents, attributes.len());
    }
}

/// Attribute, word, position.
type Words = Vec<(usize, String, usize)>;

fn words(line: &str, analyzer: &Analyzer, attributes: &mut Vec<String>) -> Words {
    let document: Map<String, Json> = serde_json::from_str(line).expect("a line is a JSON object");
    let mut words = Words::new();
    for (name, value) in document {
        let attribute = attributes.iter().position(|known| *known == name).unwrap_or_else(|| {
            attributes.push(name);
            attributes.len() - 1
        });
        let texts = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        let mut position = 0;
        for text in texts.iter().filter(|text| !text.is_object()) {
            let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
            for token in
                analyzer.tokens(&text, None).into_iter().filter(|token| token.kind == TokenKind::Word)
            {
                words.push((attribute, token.text.into_owned(), position));
                position += 1;
            }
            position += 8;
        }
    }
    words
}

fn measure(layout: Layout, documents: &[Words], attributes: usize) {
    let mut builder = Schema::builder();
    let indexing = |option| {
        let indexing = TextFieldIndexing::default().set_index_option(option).set_fieldnorms(false);
        TextOptions::default().set_indexing_options(indexing)
    };
    let field = builder.add_text_field("text", indexing(IndexRecordOption::WithFreqsAndPositions));
    let directory = RamDirectory::create();
    let index = Index::create(directory.clone(), builder.build(), Default::default()).expect("it is empty");
    index.tokenizers().register("default", RawTokenizer::default());
    let started = Instant::now();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 1 << 30).expect("there is memory");
    for words in documents {
        let mut tokens: Vec<Token> = Vec::with_capacity(words.len());
        for (attribute, word, position) in words {
            let token = |text: String, position| Token { text, position, ..Token::default() };
            tokens.push(match layout {
                Layout::AttributeInPosition => token(word.clone(), attribute << 16 | position),
                _ => token(term(layout, word, *attribute), *position),
            });
            if layout == Layout::WithPrefixes {
                let ends = word.char_indices().map(|(at, letter)| at + letter.len_utf8());
                let bucket = if *position < 16 { *position } else { position.next_power_of_two() };
                tokens.extend(
                    ends.take(4).map(|end| token(format!("{}\u{1}{attribute:03}", &word[..end]), bucket)),
                );
            }
        }
        tokens.sort_by_key(|token| token.position);
        let mut document = TantivyDocument::new();
        document.add_pre_tokenized_text(field, PreTokenizedString { text: String::new(), tokens });
        writer.add_document(document).expect("the writer lives");
    }
    writer.commit().expect("memory has room");
    writer.wait_merging_threads().expect("merges end");
    let seconds = started.elapsed().as_secs_f64();
    let searcher = index.reader().expect("it was committed").searcher();
    let segment = searcher.segment_reader(0);
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for usage in searcher.space_usage().expect("it can be counted").segments() {
        *bytes.entry("term".into()).or_default() += usage.termdict().total().get_bytes();
        *bytes.entry("idx".into()).or_default() += usage.postings().total().get_bytes();
        *bytes.entry("pos".into()).or_default() += usage.positions().total().get_bytes();
    }
    println!(
        "{layout:?} {} {} {} {seconds:.2} {:.0} {:.0}",
        bytes["term"],
        bytes["idx"],
        bytes["pos"],
        median(["yuong", "amercian", "directd", "womna", "frnech"], |word| typo(
            layout, segment, field, word, attributes
        )),
        median(["the", "film", "of", "love", "is"], |word| docs(layout, segment, field, word, attributes)),
    );
}

fn term(layout: Layout, word: &str, attribute: usize) -> String {
    match layout {
        Layout::AttributeFirst => format!("{attribute:03}\0{word}"),
        Layout::AttributeInPosition => word.to_owned(),
        Layout::WordFirst | Layout::WithPrefixes => format!("{word}\0{attribute:03}"),
    }
}

/// Returns the median of fifteen runs of each word, in microseconds.
fn median(words: [&str; 5], run: impl Fn(&str) -> usize) -> f64 {
    let mut times = Vec::new();
    for word in words {
        for _ in 0..15 {
            let started = Instant::now();
            std::hint::black_box(run(word));
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

struct Typo {
    dfa: DFA,
    skipped: usize,
    ends_at_zero: bool,
}

impl Automaton for Typo {
    /// Bytes to skip, state of the DFA, and true after the word.
    type State = (usize, u32, bool);

    fn start(&self) -> Self::State {
        (self.skipped, self.dfa.initial_state(), false)
    }

    fn is_match(&self, &(skipped, state, past): &Self::State) -> bool {
        skipped == 0
            && (past || (!self.ends_at_zero && matches!(self.dfa.distance(state), Distance::Exact(_))))
    }

    fn can_match(&self, &(_, state, past): &Self::State) -> bool {
        past || state != SINK_STATE
    }

    fn accept(&self, &(skipped, state, past): &Self::State, byte: u8) -> Self::State {
        match byte {
            _ if skipped > 0 => (skipped - 1, state, false),
            _ if past => (0, state, true),
            0 if self.ends_at_zero => match self.dfa.distance(state) {
                Distance::Exact(_) => (0, state, true),
                Distance::AtLeast(_) => (0, SINK_STATE, false),
            },
            byte => (0, self.dfa.transition(state, byte), false),
        }
    }
}

fn typo(layout: Layout, segment: &SegmentReader, field: Field, word: &str, attributes: usize) -> usize {
    let index = segment.inverted_index(field).expect("the field is there");
    let walk = |skipped: usize, low: String, high: String| {
        let dfa = LevenshteinAutomatonBuilder::new(1, true).build_dfa(word);
        let automaton =
            Typo { dfa, skipped, ends_at_zero: matches!(layout, Layout::WordFirst | Layout::WithPrefixes) };
        let mut found = 0;
        let mut terms = index.terms().search(&automaton).ge(low).lt(high).into_stream().expect("it streams");
        while terms.advance() {
            found += 1;
        }
        found
    };
    let (first, after) = (&word[..1], char::from(word.as_bytes()[0] + 1));
    if layout != Layout::AttributeFirst {
        return walk(0, first.to_owned(), after.to_string());
    }
    (0..attributes)
        .map(|attribute| walk(4, format!("{attribute:03}\0{first}"), format!("{attribute:03}\0{after}")))
        .sum()
}

/// Counts the documents with the word in the second attribute.
fn docs(layout: Layout, segment: &SegmentReader, field: Field, word: &str, _: usize) -> usize {
    let index = segment.inverted_index(field).expect("the field is there");
    let Some(info) = index.terms().get(term(layout, word, 1)).expect("it can be looked up") else { return 0 };
    let folded = layout == Layout::AttributeInPosition;
    let option = if folded { IndexRecordOption::WithFreqsAndPositions } else { IndexRecordOption::Basic };
    let mut postings = index.read_postings_from_terminfo(&info, option).expect("it can be read");
    let (mut found, mut positions) = (0, Vec::new());
    while postings.doc() != TERMINATED {
        if folded {
            positions.clear();
            postings.positions(&mut positions);
            found += usize::from(positions.iter().any(|position| position >> 16 == 1));
        } else {
            found += 1;
        }
        postings.advance();
    }
    found
}
