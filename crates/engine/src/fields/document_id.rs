use serde_json::{Map, Value};

/// Maximum bytes of a document id. Source: documents §2.3.
pub const ID_BYTES_MAX: usize = 511;

/// Returns true if a text can be a document id.
pub fn is_id(text: &str) -> bool {
    let fits = (1..=ID_BYTES_MAX).contains(&text.len());
    fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Returns the longest prefix of `text` with at most `bytes` bytes that ends at a character boundary.
pub fn at_most(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the values of a dotted name in all its readings: `a.b` is the key `a.b`, or `b` inside `a`.
pub fn values_named<'d>(name: &str, object: &'d Map<String, Value>) -> Vec<&'d Value> {
    let mut found: Vec<&Value> = object.get(name).into_iter().collect();
    for (dot, _) in name.match_indices('.') {
        if let Some(Value::Object(inner)) = object.get(&name[..dot]) {
            found.extend(values_named(&name[dot + 1..], inner));
        }
    }
    found
}

/// Returns the document id in a value, if it is one.
pub fn id_from(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if is_id(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}
