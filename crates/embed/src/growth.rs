//! Estimates how much normalising lengthens a text. A tokenizer may replace a letter by many, repeatedly.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Returns the approximate maximum number of bytes that the normalizers of a `tokenizer.json` make of one byte. Common
/// tokenizers stay below 200. Normalizers that hardly lengthen a text are not counted.
pub fn growth(tokenizer: &Value) -> usize {
    of_normalizer(&tokenizer["normalizer"])
}

fn of_normalizer(normalizer: &Value) -> usize {
    match normalizer["type"].as_str() {
        Some("Sequence") => {
            let parts = normalizer["normalizers"].as_array().map_or(&[][..], Vec::as_slice);
            parts.iter().map(of_normalizer).fold(1, usize::saturating_mul)
        }
        // The pattern may match before every byte.
        Some("Replace") => normalizer["content"].as_str().map_or(1, |content| content.len() + 1),
        Some("Precompiled") => {
            normalizer["precompiled_charsmap"].as_str().map_or(1, longest_replacement).max(1)
        }
        _ => 1,
    }
}

/// Returns the length in bytes of the longest replacement in a SentencePiece map: the length of a trie in four bytes,
/// the trie, and zero-terminated replacements. 0 if it is malformed, which the tokenizer reports itself.
fn longest_replacement(base64: &str) -> usize {
    let Ok(map) = STANDARD.decode(base64) else { return 0 };
    let Some((length, rest)) = map.split_first_chunk() else { return 0 };
    let replacements = rest.get(u32::from_le_bytes(*length) as usize..).unwrap_or_default();
    replacements.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::growth;

    #[test]
    fn replacements_multiply() {
        let replace = json!({ "type": "Replace", "pattern": { "String": "a" }, "content": "aaa" });
        // A trie of four bytes, then `xy` and `abcde`.
        let map = json!({ "type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAB4eQBhYmNkZQA=" });
        for (normalizer, expected) in [
            (json!(null), 1),
            (json!({ "type": "Lowercase" }), 1),
            (replace.clone(), 4),
            (json!({ "type": "Sequence", "normalizers": [map, replace] }), 20),
        ] {
            assert_eq!(growth(&json!({ "normalizer": normalizer })), expected, "{normalizer}");
        }
    }
}
