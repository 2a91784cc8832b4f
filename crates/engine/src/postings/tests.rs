use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::{Budget, Orders, Postings, Side, bucketed};
use crate::fixture::snapshot_of;
use crate::settings::Settings;

/// Returns the words of a document: frequent ones and a rarer one, after a varying number of fillers that changes their
/// positions.
fn words_of(docid: usize) -> Vec<&'static str> {
    let mut words = vec!["x"; docid * 7 % 40];
    words.push(if docid.is_multiple_of(5) { "tide" } else { "the" });
    words.extend(["x"; 2].iter().take(docid % 4));
    words.push(if docid.is_multiple_of(3) { "sea" } else { "song" });
    if docid.is_multiple_of(7) {
        words.push("the");
    }
    words
}

type Found = BTreeMap<u32, BTreeSet<u32>>;

fn expected_positions(documents: usize, is: impl Fn(&str) -> bool) -> Found {
    let mut expected = Found::new();
    for docid in 0..documents {
        for (position, word) in words_of(docid).into_iter().enumerate() {
            if is(word) {
                expected.entry(bucketed(position as u32)).or_default().insert(docid as u32);
            }
        }
    }
    expected
}

/// Returns documents by the least distance from a word to a following word.
fn expected_near(documents: usize, is_left: impl Fn(&str) -> bool, is_right: impl Fn(&str) -> bool) -> Found {
    let mut expected = Found::new();
    for docid in 0..documents {
        let words = words_of(docid);
        let at = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..words.len()).filter(|&position| is(words[position])).collect()
        };
        let (lefts, rights) = (at(&is_left), at(&is_right));
        let pairs = lefts.iter().flat_map(|left| rights.iter().filter_map(|right| right.checked_sub(*left)));
        if let Some(least) = pairs.filter(|distance| (1..=3).contains(distance)).min() {
            expected.entry(least as u32).or_default().insert(docid as u32);
        }
    }
    expected
}

#[test]
fn positions_and_distances_read_by_threads_match_the_documents() {
    // A segment large enough for its lists to be split, and two segments that are shared among threads.
    const SEGMENTS: [usize; 2] = [21_000, 17_000];
    let all: usize = SEGMENTS.iter().sum();
    let documents: Vec<Json> = (0..all).map(|docid| json!({ "text": words_of(docid).join(" ") })).collect();
    let (first, second) = documents.split_at(SEGMENTS[0]);
    for segments in [&[&documents[..]][..], &[first, second]] {
        let snapshot = snapshot_of(segments, Settings::default());
        let postings =
            Postings::open(&snapshot, Arc::new(Budget::until(Instant::now() + Duration::from_secs(600))))
                .unwrap();
        let word = postings.word("the").unwrap().unwrap();
        let found = postings.word_positions(&word, snapshot.documents()).unwrap().unwrap();
        let found: Found = found.iter().map(|(bucket, docs)| (bucket, docs.iter().collect())).collect();
        assert_eq!(found, expected_positions(all, |word| word == "the"));

        let found = postings.prefix_positions("t", u32::MAX, snapshot.documents()).unwrap().unwrap();
        let found: Found = found.iter().map(|(bucket, docs)| (bucket, docs.iter().collect())).collect();
        assert_eq!(found, expected_positions(all, |word| word.starts_with('t')));

        // Each pair is read in one order; the other order is then cached.
        let pairs = [("the", "sea"), ("t", "song"), ("the", "s"), ("the", "the")];
        for (left, right) in pairs.into_iter().flat_map(|(left, right)| [(left, right), (right, left)]) {
            let side = |text: &str| match text.len() {
                1 => Side::Prefix(text.into()),
                _ => Side::Word(text.into()),
            };
            let is = |text: &'static str| {
                move |word: &str| if text.len() == 1 { word.starts_with(text) } else { word == text }
            };
            let near = postings.near_docs(&side(left), &side(right), Orders::Both).unwrap();
            let mut seen = BTreeSet::new();
            let mut found = Found::new();
            for (distance, docs) in (1..).zip(near.iter()) {
                let least: BTreeSet<u32> = docs.iter().filter(|&docid| seen.insert(docid)).collect();
                if !least.is_empty() {
                    found.insert(distance, least);
                }
            }
            assert_eq!(found, expected_near(all, is(left), is(right)), "{left} {right}");
        }
    }
}

/// Reads of a few documents at a time are counted until the complete value is computed and cached.
#[test]
fn values_cached_after_many_reads_match_the_documents() {
    const DOCUMENTS: usize = 3_000;
    let documents: Vec<Json> =
        (0..DOCUMENTS).map(|docid| json!({ "text": words_of(docid).join(" ") })).collect();
    let snapshot = snapshot_of(&[&documents[..]], Settings::default());
    let budget = Budget::until(Instant::now() + Duration::from_secs(600));
    let postings = Postings::open(&snapshot, Arc::new(budget)).unwrap();
    let few = snapshot.documents().iter().take(20).collect();

    let word = postings.word("the").unwrap().unwrap();
    assert!(postings.word_positions(&word, &few).unwrap().is_none(), "reading a few documents is faster");
    let cached = (0..DOCUMENTS).find_map(|_| postings.word_positions(&word, &few).unwrap()).unwrap();
    let found: Found = cached.iter().map(|(bucket, docs)| (bucket, docs.iter().collect())).collect();
    assert_eq!(found, expected_positions(DOCUMENTS, |word| word == "the"));

    for (left, right) in [("the", "sea"), ("tide", "song")] {
        let (first, second) = (Side::Word(left.into()), Side::Word(right.into()));
        let near = |asked| postings.near_docs_if_cheap(&first, &second, Orders::Both, asked).unwrap();
        assert!(near(20).is_none(), "reading a few documents is faster");
        let forward = (0..DOCUMENTS).find_map(|_| near(20)).unwrap();
        let backward = postings.near_docs_if_cheap(&second, &first, Orders::Forward, 1).unwrap().unwrap();
        for (near, left, right) in [(forward, left, right), (backward, right, left)] {
            let mut seen = BTreeSet::new();
            let least = near.iter().map(|docs| docs.iter().filter(|docid| seen.insert(*docid)).collect());
            let mut found: Found = (1..).zip(least).collect();
            found.retain(|_, docs: &mut BTreeSet<u32>| !docs.is_empty());
            assert_eq!(found, expected_near(DOCUMENTS, |word| word == left, |word| word == right));
        }
    }
}
