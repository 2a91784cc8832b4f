//! Reduces words to their stems.

use std::borrow::Cow;

use waken_snowball::Algorithm;

/// The Snowball stemmer of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stemmer(Algorithm);

impl Stemmer {
    /// Returns the stemmer of a language by its three-letter code; None if there is none. `ts/settings/word-languages.ts` lists
    /// the same codes.
    pub fn of_code(code: &str) -> Option<Self> {
        let algorithm = match code {
            "ara" => Algorithm::Arabic,
            "cat" => Algorithm::Catalan,
            "dan" => Algorithm::Danish,
            "deu" => Algorithm::German,
            "ell" => Algorithm::Greek,
            "eng" => Algorithm::English,
            "epo" => Algorithm::Esperanto,
            "est" => Algorithm::Estonian,
            "fin" => Algorithm::Finnish,
            "fra" => Algorithm::French,
            "hin" => Algorithm::Hindi,
            "hun" => Algorithm::Hungarian,
            "hye" => Algorithm::Armenian,
            "ind" => Algorithm::Indonesian,
            "ita" => Algorithm::Italian,
            "lit" => Algorithm::Lithuanian,
            "nep" => Algorithm::Nepali,
            "nld" => Algorithm::Dutch,
            "nob" => Algorithm::Norwegian,
            "por" => Algorithm::Portuguese,
            "ron" => Algorithm::Romanian,
            "rus" => Algorithm::Russian,
            "spa" => Algorithm::Spanish,
            "srp" => Algorithm::Serbian,
            "swe" => Algorithm::Swedish,
            "tam" => Algorithm::Tamil,
            "tur" => Algorithm::Turkish,
            "yid" => Algorithm::Yiddish,
            _ => return None,
        };
        Some(Self(algorithm))
    }

    /// Returns the stem of an analysed word. Words with digits have none.
    pub fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let has_digits = word.bytes().any(|byte| byte.is_ascii_digit());
        (!has_digits).then(|| waken_snowball::stem(self.0, word))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Words and the sum of their stems, as the fallback computes them: `__test__/engine/stems.spec.ts`.
    #[derive(Deserialize)]
    struct Recorded {
        code: String,
        letters: String,
        endings: String,
        words: usize,
        sum: u32,
    }

    fn made_up(recorded: &Recorded) -> Vec<String> {
        let letters: Vec<char> = recorded.letters.chars().collect();
        let endings: Vec<&str> = recorded.endings.split(' ').collect();
        let mut state: u32 = 1;
        let mut pick = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % below
        };
        let mut made = |_| {
            let mut text = String::new();
            for _ in 0..2 + pick(5) {
                text.push(letters[pick(letters.len())]);
            }
            for _ in 0..pick(3) {
                text.push_str(endings[pick(endings.len())]);
            }
            text
        };
        (0..recorded.words).map(&mut made).collect()
    }

    /// FNV-1a over the stems, a line each.
    fn sum_of(stemmer: Stemmer, words: &[String]) -> u32 {
        let stems = words.iter().map(|word| format!("{}\n", stemmer.stem(word).unwrap()));
        stems.fold(0x811c_9dc5, |sum, stem| {
            stem.bytes().fold(sum, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
        })
    }

    #[test]
    fn stems_of_made_up_words_are_those_of_the_fallback() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../__test__/golden/stems.json");
        let recorded: Vec<Recorded> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(recorded.len(), 28);
        for one in &recorded {
            let stemmer = Stemmer::of_code(&one.code).unwrap();
            assert_eq!(sum_of(stemmer, &made_up(one)), one.sum, "{}", one.code);
        }
    }
}
