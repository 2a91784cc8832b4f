use serde_json::{Map, Value};

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

/// The values of a dotted name in each way to read it: `a.b` is the key `a.b`, or `b` inside `a`.
pub fn values_named<'d>(name: &str, object: &'d Map<String, Value>) -> Vec<&'d Value> {
    let mut found: Vec<&Value> = object.get(name).into_iter().collect();
    for (dot, _) in name.match_indices('.') {
        if let Some(Value::Object(inner)) = object.get(&name[..dot]) {
            found.extend(values_named(&name[dot + 1..], inner));
        }
    }
    found
}

/// The document id that a value is, if it can be one.
pub fn id_from(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if is_id(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}
