//! Short-prefix lists agree with the postings lists of all words that have the prefix.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use serde_json::{Value, json};

use crate::fixture::snapshot_of;
use crate::indexing::layout;
use crate::postings::{Budget, Occurrences, Orders, Postings, Reading, Side, Word, bucketed};
use crate::settings::Settings;
use crate::store::{SegmentView, Snapshot, merge};

/// Words in scripts with and without a code, numbers, and a hard separator.
const WORDS: [&str; 18] = [
    "sea",
    "sky",
    "s",
    "apple",
    "a",
    "at",
    "1",
    "1984",
    "1st",
    "12.50",
    "жук",
    "ωμέγα",
    "שלום",
    "東京",
    "été",
    "x",
    "b.",
    "c;",
];

const PREFIXES: [&str; 9] = ["s", "a", "1", "x", "ж", "ω", "ש", "東", "q"];

/// A linear congruential generator; only the upper half of its state is used. Every run gets the same numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Enough documents for a segment with short-prefix postings, and a few more in a second segment.
fn corpus(random: &mut Random) -> Snapshot {
    let mut text = |most: usize| {
        let count = random.below(most + 1);
        (0..count).map(|_| WORDS[random.below(WORDS.len())]).collect::<Vec<_>>().join(" ")
    };
    let documents: Vec<Value> = (0..4_300)
        .map(|id| {
            let several = json!([{ "b": text(3), "c": text(2) }, { "b": text(3) }]);
            json!({ "id": id, "long": text(40), "a": several, "hidden": text(2) })
        })
        .collect();
    let searched = json!({ "searchableAttributes": ["long", "a", "id"] });
    let mut settings: Settings = serde_json::from_value(searched).unwrap();
    settings.typo_tolerance.disable_on_numbers = true;
    snapshot_of(&[&documents[..4_200], &documents[4_200..]], settings)
}

fn with(snapshot: &Snapshot, segments: Vec<SegmentView>) -> Snapshot {
    Snapshot::new(&layout(), snapshot.parts().clone(), segments)
}

fn merged(snapshot: &Snapshot) -> Snapshot {
    let segments: Vec<&SegmentView> = snapshot.segments().iter().collect();
    let merged = merge::merge(&layout(), &segments, None).unwrap().unwrap();
    with(snapshot, vec![SegmentView::of(merged).unwrap()])
}

#[test]
fn a_short_prefix_gives_the_postings_of_all_words_with_it() {
    let mut random = Random(7);
    let whole = corpus(&mut random);
    let gone: RoaringBitmap = (0..4_300).filter(|_| random.below(40) == 0).collect();
    let holed = with(&whole, whole.segments().iter().map(|segment| segment.without(&gone)).collect());
    let again = merged(&holed);
    for (name, snapshot) in [("two segments", &whole), ("with deletions", &holed), ("merged", &again)] {
        let with_postings =
            snapshot.segments().iter().filter(|segment| segment.short_prefix_postings().is_some());
        assert_eq!(with_postings.count(), 1, "{name}");
        for prefix in PREFIXES {
            check(snapshot, prefix, &format!("{prefix:?}, {name}"));
        }
    }
}

fn check(snapshot: &Snapshot, prefix: &str, what: &str) {
    let budget = Arc::new(Budget::until(Instant::now() + Duration::from_secs(600)));
    let postings = Postings::open(snapshot, budget).unwrap();
    let mut words: Vec<Word> = Vec::new();
    let each = |word: Word| {
        words.push(word);
        Ok(ControlFlow::Continue(()))
    };
    postings.starting_with(prefix, each).unwrap();

    let (found, expected) = (postings.prefix_docs(prefix).unwrap(), postings.docs(words.iter()).unwrap());
    for forgiving in [false, true] {
        let reading = Reading { forgiving, within: None };
        let matching = |docs: &crate::postings::FieldDocs| docs.matching(reading, postings.searchable());
        assert_eq!(matching(&found), matching(&expected), "{what}");
    }
    assert!(found.fields().eq(expected.fields()), "{what}");

    let all = snapshot.documents();
    let few: RoaringBitmap = all.iter().step_by(97).collect();
    for universe in [all, &few] {
        let found = postings.prefix_occurrences(prefix, universe).unwrap();
        let expected = postings.occurrences(words.iter(), universe).unwrap();
        assert!(found.iter().eq(expected.iter()), "{what}");
        for expected in [0, 3, 15, 16, 40] {
            let offsets = offsets(&postings, &words, expected, universe);
            same(&offsets_by_short_prefix(&postings, prefix, expected, universe), &offsets, what);
        }
    }
    for other in ["sea", "1984", "ωμεγα"] {
        let Some(word) = postings.word(other).unwrap() else { continue };
        let (word, begins) = (
            postings.occurrences([&word].into_iter(), all).unwrap(),
            postings.occurrences(words.iter(), all).unwrap(),
        );
        let sides = [Side::Word(other.into()), Side::Prefix(prefix.into())];
        same(&near(&postings, &sides[0], &sides[1]), &distances(&word, &begins), what);
        same(&near(&postings, &sides[1], &sides[0]), &distances(&begins, &word), what);
    }
}

/// Fails with the first documents that differ.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(found: &BTreeMap<u32, T>, expected: &BTreeMap<u32, T>, what: &str) {
    let docids: std::collections::BTreeSet<u32> = found.keys().chain(expected.keys()).copied().collect();
    let differing = docids.iter().filter(|docid| found.get(docid) != expected.get(docid));
    let differing: Vec<_> =
        differing.take(5).map(|docid| (docid, found.get(docid), expected.get(docid))).collect();
    assert!(differing.is_empty(), "{what}: {differing:?}");
}

/// Returns the distance from a position to the nearest of `words`, by document.
fn offsets(
    postings: &Postings,
    words: &[Word],
    expected: u32,
    universe: &RoaringBitmap,
) -> BTreeMap<u32, u32> {
    let mut least = BTreeMap::new();
    let visit = |docid, _, positions: &[u32]| note(&mut least, docid, bucketed_all(positions), expected);
    postings.visit_positions(words.iter(), universe, visit).unwrap();
    least
}

fn bucketed_all(positions: &[u32]) -> impl Iterator<Item = u32> {
    positions.iter().map(|&position| bucketed(position))
}

fn note(least: &mut BTreeMap<u32, u32>, docid: u32, buckets: impl Iterator<Item = u32>, expected: u32) {
    for bucket in buckets {
        let offset = bucket.abs_diff(expected);
        least.entry(docid).and_modify(|known: &mut u32| *known = offset.min(*known)).or_insert(offset);
    }
}

fn offsets_by_short_prefix(
    postings: &Postings,
    prefix: &str,
    expected: u32,
    universe: &RoaringBitmap,
) -> BTreeMap<u32, u32> {
    let mut least = BTreeMap::new();
    match postings.prefix_positions(prefix, expected, universe).unwrap() {
        Some(positions) => {
            for (bucket, docs) in positions.iter() {
                for docid in docs & universe {
                    note(&mut least, docid, std::iter::once(bucket), expected);
                }
            }
        }
        None => {
            let visit =
                |docid, _, positions: &[u32]| note(&mut least, docid, bucketed_all(positions), expected);
            postings.visit_prefix(prefix, universe, visit).unwrap();
        }
    }
    least
}

fn near(postings: &Postings, left: &Side, right: &Side) -> BTreeMap<u32, u8> {
    let mut least = BTreeMap::new();
    for (distance, docs) in (1..).zip(postings.near_docs(left, right, Orders::Forward).unwrap().iter()) {
        for docid in docs {
            least.entry(docid).or_insert(distance);
        }
    }
    least
}

fn distances(left: &Occurrences, right: &Occurrences) -> BTreeMap<u32, u8> {
    left.distances_to(right).into_iter().collect()
}

#[test]
fn damaged_short_prefix_lists_are_an_error_and_no_panic() {
    let mut random = Random(8);
    let snapshot = corpus(&mut random);
    let segment = &snapshot.segments()[0];
    let files = segment.core.files.list();
    for extension in ["initials", "places"] {
        let bytes = files.iter().find(|(name, _)| name == extension).unwrap().1.bytes.read_bytes().unwrap();
        for _ in 0..60 {
            let mut damaged = bytes.to_vec();
            match random.below(3) {
                0 => damaged.truncate(random.below(damaged.len())),
                1 => damaged.fill(random.below(256) as u8),
                _ => {
                    for _ in 0..1 + random.below(20) {
                        let at = random.below(damaged.len());
                        damaged[at] = random.below(256) as u8;
                    }
                }
            }
            let Ok(view) = reopened(segment, extension, damaged) else { continue };
            let snapshot = with(&snapshot, vec![view]);
            let budget = Arc::new(Budget::until(Instant::now() + Duration::from_secs(600)));
            let postings = Postings::open(&snapshot, budget).unwrap();
            for prefix in PREFIXES {
                let _ = postings.prefix_docs(prefix);
                let _ = postings.prefix_positions(prefix, 0, snapshot.documents());
                let _ = postings.prefix_occurrences(prefix, snapshot.documents());
                let _ =
                    postings.near_docs(&Side::Word("sea".into()), &Side::Prefix(prefix.into()), Orders::Both);
            }
        }
    }
}

/// Replaces the bytes of a file of a segment.
fn reopened(segment: &SegmentView, extension: &str, bytes: Vec<u8>) -> crate::error::Result<SegmentView> {
    let files = segment.core.files.list().into_iter().map(|(name, file)| match name == extension {
        true => (name, crate::store::segment_files::SegmentFile { bytes: bytes.clone().into(), ..file }),
        false => (name, file),
    });
    let entry = segment.core.entry.clone();
    let files = crate::store::segment_files::SegmentFiles::of(&entry.id.clone(), files);
    SegmentView::open(&layout(), entry, files, Vec::new(), None)
}
