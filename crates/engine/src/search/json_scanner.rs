//! Reads JSON from left to right without recursion, so that deep nesting takes little stack.

/// A token of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event<'j> {
    /// `{`
    OpenObject,
    /// `[`
    OpenArray,
    /// `}` or `]`
    Close,
    /// The key of the next value: its JSON text with quotes.
    Key(&'j str),
    /// The JSON text of a string, number, boolean or null.
    Scalar(&'j str),
}

/// Scans valid JSON. Documents are parsed before they are stored.
pub(super) struct Scanner<'j> {
    text: &'j str,
    at: usize,
    /// True for each open container that is an object.
    open: Vec<bool>,
    expects_key: bool,
}

impl<'j> Scanner<'j> {
    pub fn new(text: &'j str) -> Self {
        Self { text, at: 0, open: Vec::new(), expects_key: false }
    }

    fn end_of_string(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while at < bytes.len() {
            match bytes[at] {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        bytes.len()
    }

    fn after_value(&mut self) {
        self.expects_key = self.open.last() == Some(&true);
    }
}

impl<'j> Iterator for Scanner<'j> {
    type Item = Event<'j>;

    fn next(&mut self) -> Option<Event<'j>> {
        let bytes = self.text.as_bytes();
        while let b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' = *bytes.get(self.at)? {
            self.at += 1;
        }
        let start = self.at;
        match bytes[start] {
            opening @ (b'{' | b'[') => {
                let object = opening == b'{';
                self.at += 1;
                self.open.push(object);
                self.expects_key = object;
                Some(if object { Event::OpenObject } else { Event::OpenArray })
            }
            b'}' | b']' => {
                self.at += 1;
                self.open.pop();
                self.after_value();
                Some(Event::Close)
            }
            b'"' => {
                self.at = self.end_of_string();
                let raw = &self.text[start..self.at];
                if self.expects_key {
                    self.expects_key = false;
                    return Some(Event::Key(raw));
                }
                self.after_value();
                Some(Event::Scalar(raw))
            }
            _ => {
                let rest = &bytes[start..];
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
                self.after_value();
                Some(Event::Scalar(&self.text[start..self.at]))
            }
        }
    }
}

/// Decodes a JSON string with quotes.
pub(super) fn unquote(raw: &str) -> std::borrow::Cow<'_, str> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if inner.contains('\\') {
        serde_json::from_str::<String>(raw).unwrap_or_else(|_| inner.to_owned()).into()
    } else {
        inner.into()
    }
}
