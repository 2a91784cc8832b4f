use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Small dictionaries and cases, which the fallback is tested with too. Made by `scripts/tiny-words.mjs`.
fn support(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/support/words").join(name)
}

fn cut(dictionary: &Dictionary, text: &str) -> Vec<String> {
    let (mut words, mut start) = (Vec::new(), 0);
    Cutter::new(dictionary).each(text, |end| {
        words.push(text[start..end].to_owned());
        start = end;
    });
    assert_eq!(start, text.len(), "the words cover {text:?}");
    words
}

#[test]
fn texts_are_cut_into_the_cheapest_words() {
    let dictionaries = Dictionaries::open(&[support("tiny-ja.bin"), support("tiny-ko.bin")]).unwrap();
    let cases = fs::read(support("cases.json")).unwrap();
    let cases: Vec<(String, String, String)> = serde_json::from_slice(&cases).unwrap();
    for (language, text, expected) in cases {
        assert_eq!(cut(dictionaries.get(&language).unwrap(), &text).join("|"), expected, "{text}");
    }
}

#[test]
fn a_text_longer_than_a_window_is_cut_like_its_parts() {
    let dictionary = Dictionary::open(&support("tiny-ja.bin")).unwrap();
    let words = cut(&dictionary, &"関西国際空港は今日も𠮷野家で".repeat(1_000));
    let once = cut(&dictionary, "関西国際空港は今日も𠮷野家で");
    assert_eq!(words.len(), 1_000 * once.len());
    assert!(words.chunks(once.len()).all(|part| part == once));
}

#[test]
fn a_damaged_dictionary_is_an_error_that_names_the_path() {
    let sound = fs::read(support("tiny-ja.bin")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("words.bin");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = Dictionary::open(&path).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("words.bin")), "{} bytes", bytes.len());
    };
    for length in 0..sound.len() {
        refused(&sound[..length]);
    }
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x55;
        refused(&damaged);
    }
}

#[test]
fn a_hostile_dictionary_is_refused_or_cuts_every_text() {
    let sound = fs::read(support("tiny-ja.bin")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("words.bin");
    for at in 16..sound.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut hostile = sound.clone();
            hostile[at] = value;
            let checksum = crc32fast::hash(&hostile[16..]);
            hostile[12..16].copy_from_slice(&checksum.to_le_bytes());
            fs::write(&path, &hostile).unwrap();
            if let Ok(dictionary) = Dictionary::open(&path) {
                cut(&dictionary, "関西国際空港は今日も𠮷野家でノート");
            }
        }
    }
}

/// Compares with MeCab. The folder in `SIFTD_WORDS_ORACLE` holds `words.bin`, texts and their words, line by line.
#[test]
fn texts_are_cut_like_an_oracle() {
    let Some(folder) = std::env::var_os("SIFTD_WORDS_ORACLE").map(PathBuf::from) else { return };
    let dictionary = Dictionary::open(&folder.join("words.bin")).unwrap();
    let [texts, words] = ["texts", "words"].map(|name| fs::read_to_string(folder.join(name)).unwrap());
    for (text, words) in texts.lines().zip(words.lines()) {
        assert_eq!(cut(&dictionary, text).join("|"), words);
    }
}
