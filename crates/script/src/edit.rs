//! One script, one document.
//!
//! Scripts are Rhai. They see `doc` and `context` and nothing else: no files, no clock, no randomness, no
//! modules. What they may use of time and memory is bounded below, so that a script that never ends, or that
//! builds something endless, fails like any other faulty script.

use std::time::Instant;

use rhai::{AST, Dynamic, Engine, EvalAltResult, Scope};
use serde_json::{Map, Number, Value};

use crate::Failure;

/// Bytes of a script.
const SCRIPT_BYTES_MAX: usize = 100_000;
/// Steps of the interpreter per document.
const STEPS_MAX: u64 = 1_000_000;
/// Functions calling functions.
const CALLS_MAX: usize = 32;
/// Nested expressions, outside of functions and inside.
const EXPRESSION_DEPTHS_MAX: (usize, usize) = (64, 32);
/// Bytes of all strings of a value.
const STRING_BYTES_MAX: usize = 10_000_000;
/// Elements of an array or object, those nested in it included.
const ELEMENTS_MAX: usize = 1_000_000;
/// Levels of an edited document.
const DEPTH_MAX: usize = 128;
/// Bytes of names and strings of an edited document: strings are shared inside a script, but not in JSON.
const DOCUMENT_BYTES_MAX: usize = 10_000_000;

const RUNTIME: &str = "edit_documents_by_function_error";

/// A script ready to run.
pub struct Script {
    engine: Engine,
    ast: AST,
    context: Dynamic,
}

/// What a script made of a document.
#[derive(Debug, PartialEq)]
pub enum Edited {
    /// The very same.
    Unchanged,
    /// Another content; its keys in the order they had, new ones last.
    Changed(Map<String, Value>),
    /// It shall not exist any more.
    Deleted,
}

impl Script {
    /// Compiles a script that must be done with all its documents by `deadline`.
    ///
    /// # Errors
    /// `bad_request` if it does not compile.
    pub fn compile(
        function: &str,
        context: Option<&Map<String, Value>>,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        if function.len() > SCRIPT_BYTES_MAX {
            let message =
                format!("the function has {} bytes, the most are {SCRIPT_BYTES_MAX}", function.len());
            return Err(Failure::new("bad_request", message));
        }
        let engine = sandbox(deadline);
        let ast = engine.compile(function).map_err(|error| {
            Failure::new("bad_request", format!("the function does not compile: {error}"))
        })?;
        let context = context.map_or(Dynamic::UNIT, object_to_script);
        Ok(Self { engine, ast, context })
    }

    /// Runs the script over one document.
    ///
    /// # Errors
    /// `edit_documents_by_function_error` if it fails, exceeds its limits or leaves something that is no
    /// document.
    pub fn run(&self, document: &Map<String, Value>) -> Result<Edited, Failure> {
        let mut scope = Scope::new();
        scope.push_constant_dynamic("context", self.context.clone());
        scope.push_dynamic("doc", object_to_script(document));
        self.engine.run_ast_with_scope(&mut scope, &self.ast).map_err(|error| failed(reason(&error)))?;
        let edited = scope.get_value::<Dynamic>("doc").unwrap_or(Dynamic::UNIT);
        if edited.is_unit() {
            return Ok(Edited::Deleted);
        }
        let kind = edited.type_name();
        let Some(fields) = edited.read_lock::<rhai::Map>() else {
            return Err(failed(format!("`doc` must stay an object or become `()`, but it is now a {kind}")));
        };
        let mut reader = Reader { bytes_left: DOCUMENT_BYTES_MAX };
        let edited = reader.object(&fields, Some(document), 0)?;
        Ok(if edited == *document { Edited::Unchanged } else { Edited::Changed(edited) })
    }
}

/// The refusal of what a script did to a document.
pub fn failed(reason: impl std::fmt::Display) -> Failure {
    Failure::new(RUNTIME, format!("the function failed: {reason}"))
}

fn reason(error: &EvalAltResult) -> String {
    match error {
        EvalAltResult::ErrorTerminated(..) => "it took too long over all documents".to_owned(),
        EvalAltResult::ErrorTooManyOperations(_) => {
            format!("it took more than {STEPS_MAX} steps for one document")
        }
        other => other.to_string(),
    }
}

fn sandbox(deadline: Instant) -> Engine {
    let mut engine = Engine::new();
    engine
        .set_max_operations(STEPS_MAX)
        .set_max_call_levels(CALLS_MAX)
        .set_max_expr_depths(EXPRESSION_DEPTHS_MAX.0, EXPRESSION_DEPTHS_MAX.1)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(ELEMENTS_MAX)
        .set_max_map_size(ELEMENTS_MAX)
        .set_max_functions(100)
        .set_max_variables(1_000)
        .disable_symbol("eval")
        // Neither the terminal nor the time of the server is the script's to use.
        .on_print(|_| {})
        .on_debug(|_, _, _| {})
        .register_fn("sleep", |_: i64| {})
        .register_fn("sleep", |_: f64| {});
    engine.on_progress(move |steps| {
        let looks_at_the_clock = steps % 1024 == 0;
        let is_late = looks_at_the_clock && Instant::now() > deadline;
        is_late.then_some(Dynamic::UNIT)
    });
    engine
}

fn object_to_script(object: &Map<String, Value>) -> Dynamic {
    let fields: rhai::Map =
        object.iter().map(|(name, value)| (name.as_str().into(), to_script(value))).collect();
    Dynamic::from_map(fields)
}

fn to_script(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(flag) => Dynamic::from_bool(*flag),
        Value::Number(number) => number_to_script(number),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Dynamic::from_array(items.iter().map(to_script).collect()),
        Value::Object(object) => object_to_script(object),
    }
}

/// Integers beyond 64 signed bits are floats to a script.
fn number_to_script(number: &Number) -> Dynamic {
    number
        .as_i64()
        .map_or_else(|| Dynamic::from_float(number.as_f64().unwrap_or_default()), Dynamic::from_int)
}

/// Reads what a script left as JSON, as long as it does not grow beyond all bounds.
struct Reader {
    bytes_left: usize,
}

impl Reader {
    fn object(
        &mut self,
        fields: &rhai::Map,
        before: Option<&Map<String, Value>>,
        depth: usize,
    ) -> Result<Map<String, Value>, Failure> {
        let mut object = Map::new();
        for (name, old) in before.into_iter().flatten() {
            if let Some(value) = fields.get(name.as_str()) {
                object.insert(self.text(name)?, self.value(value, Some(old), depth + 1)?);
            }
        }
        for (name, value) in fields {
            if !object.contains_key(name.as_str()) {
                object.insert(self.text(name)?, self.value(value, None, depth + 1)?);
            }
        }
        Ok(object)
    }

    /// A value of a script. What is still as it was `before` keeps the way it was written.
    fn value(&mut self, value: &Dynamic, before: Option<&Value>, depth: usize) -> Result<Value, Failure> {
        if depth > DEPTH_MAX {
            return Err(failed(format!("the document is nested deeper than {DEPTH_MAX} levels")));
        }
        self.take(1)?;
        if value.is_unit() {
            return Ok(Value::Null);
        }
        if let Ok(flag) = value.as_bool() {
            return Ok(Value::Bool(flag));
        }
        if let Ok(integer) = value.as_int() {
            return Ok(Value::Number(integer.into()));
        }
        if let Ok(float) = value.as_float() {
            return float_from_script(float, before);
        }
        if let Ok(text) = value.as_immutable_string_ref() {
            return Ok(Value::String(self.text(&text)?));
        }
        if let Ok(letter) = value.as_char() {
            return Ok(Value::String(letter.into()));
        }
        if let Some(items) = value.read_lock::<rhai::Array>() {
            let old = before.and_then(Value::as_array);
            let mut read = Vec::with_capacity(items.len());
            for (position, item) in items.iter().enumerate() {
                read.push(self.value(item, old.and_then(|old| old.get(position)), depth + 1)?);
            }
            return Ok(Value::Array(read));
        }
        if let Some(fields) = value.read_lock::<rhai::Map>() {
            return self.object(&fields, before.and_then(Value::as_object), depth).map(Value::Object);
        }
        Err(failed(format!("a document cannot hold a {}", value.type_name())))
    }

    fn text(&mut self, text: &str) -> Result<String, Failure> {
        self.take(text.len())?;
        Ok(text.to_owned())
    }

    fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| failed(format!("the document has grown over {DOCUMENT_BYTES_MAX} bytes")))?;
        Ok(())
    }
}

fn float_from_script(float: f64, before: Option<&Value>) -> Result<Value, Failure> {
    if let Some(Value::Number(old)) = before
        && old.as_f64() == Some(float)
        && old.as_i64().is_none()
    {
        return Ok(Value::Number(old.clone()));
    }
    Number::from_f64(float).map(Value::Number).ok_or_else(|| failed(format!("{float} is no number of JSON")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn object(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).expect("an object")
    }

    fn run(function: &str, document: &str) -> Result<Edited, Failure> {
        let deadline = Instant::now() + Duration::from_secs(60);
        Script::compile(function, Some(&object(r#"{"by": 2}"#)), deadline)?.run(&object(document))
    }

    fn code(outcome: Result<Edited, Failure>) -> String {
        match outcome {
            Ok(edited) => format!("{edited:?}"),
            Err(error) => error.code.to_owned(),
        }
    }

    #[test]
    fn a_script_changes_deletes_or_leaves_a_document() {
        let cases = [
            ("doc.n = doc.n * context.by", r#"{"id":1,"n":4}"#, r#"{"id":1,"n":8}"#),
            ("doc.title = doc.title.to_upper()", r#"{"title":"solaris"}"#, r#"{"title":"SOLARIS"}"#),
            (
                "doc.remove(\"b\"); doc.c = [1, 'x', #{d: ()}]",
                r#"{"b":1,"a":2}"#,
                r#"{"a":2,"c":[1,"x",{"d":null}]}"#,
            ),
            (
                "doc.a = 1",
                r#"{"z":18446744073709551615,"y":1.0,"a":0}"#,
                r#"{"z":18446744073709551615,"y":1.0,"a":1}"#,
            ),
        ];
        for (function, before, after) in cases {
            let Edited::Changed(document) = run(function, before).expect(function) else {
                panic!("{function} changed nothing")
            };
            assert_eq!(Value::Object(document).to_string(), after, "{function}");
        }
        assert_eq!(run("doc = ()", "{}").unwrap(), Edited::Deleted);
        assert_eq!(run("let x = doc.id", r#"{"id":1.0}"#).unwrap(), Edited::Unchanged);
    }

    #[test]
    fn faulty_and_endless_scripts_fail_by_their_code() {
        let deep = "let x = []; for i in 0..200 { x = [x]; } doc.x = x";
        let endless = "let s = \"xxxxxxxxxx\"; loop { s += s; }";
        let cases = [
            ("doc.a +", "bad_request"),
            ("let x = 1; }", "bad_request"),
            ("eval(\"1\")", "bad_request"),
            ("import \"fs\" as f;", "bad_request"),
            ("loop { }", RUNTIME),
            (endless, RUNTIME),
            ("let a = []; loop { a.push(a); }", RUNTIME),
            (
                "let s = \"x\"; while s.len < 1000000 { s += s; } doc.a = []; for i in 0..100 { doc.a.push(s); }",
                RUNTIME,
            ),
            ("fn f(n) { f(n + 1) } f(0)", RUNTIME),
            (deep, RUNTIME),
            ("doc = 3", RUNTIME),
            ("doc.a = 0.0 / 0.0", RUNTIME),
            ("doc.a = |x| x", RUNTIME),
            ("ghost()", RUNTIME),
            ("throw \"no\"", RUNTIME),
            ("sleep(100); throw \"at once\"", RUNTIME),
        ];
        for (function, expected) in cases {
            assert_eq!(code(run(function, r#"{"a":1}"#)), expected, "{function}");
        }
        let long = " ".repeat(SCRIPT_BYTES_MAX + 1);
        assert_eq!(code(run(&long, "{}")), "bad_request");
        let nested = format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000));
        assert_eq!(code(run(&nested[..99_000], "{}")), "bad_request");
    }
}
