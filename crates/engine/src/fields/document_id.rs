/// Longest document id in bytes. Source: documents §2.3.
pub const ID_BYTES_MAX: usize = 511;

/// Whether a text can be a document id.
pub fn is_id(text: &str) -> bool {
    let fits = (1..=ID_BYTES_MAX).contains(&text.len());
    fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The longest beginning of `text` that has at most `bytes` bytes and ends with a whole character.
pub fn at_most(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
