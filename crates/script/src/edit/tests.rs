//! Tests of scripts on documents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::limits::STACK_BYTES;
use crate::memory;

const RUNTIME: &str = "edit_documents_by_function_error";

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).expect("an object")
}

fn run(function: &str, document: &str) -> Result<Edited, Failure> {
    run_until(function, document, Instant::now() + Duration::from_secs(60), None)
}

/// Runs on a separate thread, like pages.
fn run_until(
    function: &str,
    document: &str,
    deadline: Instant,
    stop: Option<Arc<AtomicBool>>,
) -> Result<Edited, Failure> {
    let edit = move || {
        let meter = Meter::new(deadline, stop);
        Script::compile(function, Some(&object(r#"{"by": 2}"#)), meter)?.run(&object(document))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, edit);
        thread.expect("a thread").join().expect("no panic")
    })
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
fn faulty_and_endless_scripts_fail_with_their_code() {
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

fn refusal(function: &str) -> String {
    match run(function, r#"{"a":1}"#) {
        Ok(edited) => format!("{edited:?}").chars().take(200).collect(),
        Err(error) => error.message,
    }
}

#[test]
fn native_functions_that_multiply_are_rejected_before_they_run() {
    let long = "let s = \"x\"; s.pad(100000, 'x');";
    let half = "let s = \"x\"; s.pad(5000000, 'x');";
    let cases = [
        format!("{long} s.replace(\"x\", s)"),
        format!("{long} s.replace('x', s)"),
        format!("{long} s.replace(\"\", s)"),
        format!("{half} s.to_chars()"),
        format!("{half} s.split(\"\")"),
        format!("{half} s.split('x')"),
        format!("{half} s.split(\"x\", 4000000)"),
        format!("{half} s.split('x', 4000000)"),
        format!("{half} s.split_rev(\"x\")"),
        format!("{half} s.split_rev('x')"),
        format!("{half} s.split_rev(\"x\", 4000000)"),
        format!("{half} s.split_rev('x', 4000000)"),
        "let s = \"x\"; s.pad(4000000, \"x \"); s.split()".to_owned(),
        "let s = \"x\"; s.pad(20000000, \"ab\")".to_owned(),
        "let a = []; a.pad(2000000, 1)".to_owned(),
        "let a = []; a.pad(1000, [1]); let b = []; b.pad(1001, a)".to_owned(),
        "let s = \"x\"; s.pad(1000000, 'x'); let a = []; a.pad(11, s)".to_owned(),
        "blob(2000000)".to_owned(),
        "let b = blob(); b.pad(2000000, 1)".to_owned(),
        "let s = \"[0\"; s.pad(400000, \",0\"); parse_json(`{\"a\":` + s + \"]}\")".to_owned(),
    ];
    for function in cases {
        let refusal = refusal(&function);
        assert!(refusal.contains("too large") || refusal.contains("exceeds"), "{function}: {refusal}");
    }
}

#[test]
fn all_values_of_a_script_share_one_budget() {
    let strings = (0..60).map(|at| format!("let s{at} = \"\"; s{at}.pad(9000000, 'x');"));
    let arrays = (0..10).map(|at| format!("let a{at} = []; a{at}.pad(999999, {at});"));
    let blobs = (0..100).map(|at| format!("let b{at} = blob(999999, {at});"));
    let functions = [
        strings.collect::<String>(),
        arrays.collect(),
        blobs.collect(),
        "fn f(a, n) { if n == 0 { return; } a.push(n); f(a, n - 1) } let a = []; a.pad(900000, 1); f(a, 20)"
            .into(),
        "let f = |x| x; loop { f = f.curry(f); }".into(),
    ];
    for function in functions {
        let refusal = refusal(&function);
        let shown: String = function.chars().take(80).collect();
        assert!(refusal.contains("67108864 bytes"), "{shown}: {refusal}");
    }
}

#[test]
fn memory_of_a_run_is_released() {
    let edit = || {
        let meter = Meter::new(Instant::now() + Duration::from_secs(60), None);
        let text = "let s = \"\"; s.pad(3000000, \"\\\"\"); let a = [s, s, s]; doc.b = a.to_debug(); doc.c = #{a: a}.to_json()";
        let script = Script::compile(text, None, meter).expect("it compiles");
        let before = memory::held();
        let outcome = script.run(&object("{}"));
        drop(outcome);
        memory::held() - before
    };
    assert!(edit() < 1 << 20);
}

#[test]
fn values_nested_too_deeply_for_the_stack_fail() {
    let functions = [
        "let x = []; loop { x = [x]; }",
        "let x = #{}; loop { x = #{a: x}; }",
        "let x = []; loop { x = [take(x)]; }",
        "let a = [[]]; loop { a.push([a.pop()]); }",
        "let a = [[]]; loop { a.push([a.shift()]); }",
        "let a = [[]]; loop { a.push([a.remove(0)]); }",
        "let a = [[]]; loop { a.push([a.drain(0, 1)]); }",
        "let a = [[]]; loop { a.push([a.drain(0..1)]); }",
        "let a = [[]]; loop { a.push([a.split(0)]); }",
        "let m = #{a: 1}; loop { m.a = #{a: m.remove(\"a\")}; }",
        "fn deepen() { loop { this.push([this.pop()]); } } let a = [[]]; a.deepen()",
        "let f = |x| x; loop { f = Fn(\"g\").curry(f); } fn g(x) { x }",
        "let a = [1]; loop { a = a.map(|x| [a]); }",
    ];
    for function in functions {
        assert_eq!(code(run(function, "{}")), RUNTIME, "{function}");
    }
}

#[test]
fn native_loops_stop_at_the_time_limit() {
    let functions = [
        "let a = []; a.pad(900000, 1); a.sort(|x, y| { let n = 0; for i in 0..1000 { n += i; } n })",
        "let a = []; a.pad(900000, 1); loop { a.push(1); a.pop(); }",
        "let a = []; a.pad(900000, 1); a.dedup(|x, y| { for i in 0..1000 {} false })",
        "let a = []; a.pad(900, 1); let b = []; b.pad(900, a); loop { b.contains(a); b.to_string(); }",
        "let s = \"\"; s.pad(9000000, 'x'); loop { s.index_of(\"y\"); s.to_upper(); }",
        "let a = []; a.pad(900000, 1); a.map(|x| { for i in 0..1000 {} })",
        "let a = []; a.pad(900000, 1); loop { a.reduce(|sum, x| sum + x, 0); }",
    ];
    for function in functions {
        let started = Instant::now();
        let outcome = run_until(function, "{}", started + Duration::from_millis(100), None);
        assert_eq!(code(outcome), RUNTIME, "{function}");
        assert!(started.elapsed() < Duration::from_secs(9), "{function}: {:?}", started.elapsed());
    }
    let endless = run("let s = \"a\"; s.pad(10, \"\"); doc.s = s", "{}").expect("it ends");
    assert_eq!(endless, Edited::Changed(object(r#"{"s":"a"}"#)));
}

#[test]
fn a_script_ends_when_its_task_is_stopped() {
    let stop = Arc::new(AtomicBool::new(false));
    let outcome = std::thread::scope(|scope| {
        let (deadline, flag) = (Instant::now() + Duration::from_secs(60), Arc::clone(&stop));
        let run = scope.spawn(move || run_until("loop { sleep(1) }", "{}", deadline, Some(flag)));
        stop.store(true, Ordering::Relaxed);
        run.join().expect("no panic")
    });
    assert_eq!(outcome.unwrap_err().message, "the function failed: it was stopped");
}

#[test]
fn reference_cycles_fail_the_script() {
    for function in [
        "let x = #{}; let f = || x; let a = []; a.pad(200000, 1); x = #{f: f, a: a};",
        "let x = []; let f = || x; let a = []; a.pad(200000, 1); x = [f, a];",
    ] {
        assert!(refusal(function).contains("never be freed"), "{}", refusal(function));
    }
}

#[test]
fn bounded_functions_return_the_same_as_those_of_the_interpreter() {
    let cases = [
        ("let s = \"a-b-c\"; s.replace(\"-\", \"--\"); s", "\"a--b--c\""),
        ("let s = \"aba\"; s.replace('a', 'é'); s", "\"ébé\""),
        ("let s = \"ab\"; s.replace(\"\", \"-\"); s", "\"-a-b-\""),
        ("let s = \"ab\"; s.pad(7, \"xyz\"); s", "\"abxyzxy\""),
        ("\"a b  c\".split()", "[\"a\",\"b\",\"c\"]"),
        ("\"a,b,,c\".split(\",\")", "[\"a\",\"b\",\"\",\"c\"]"),
        ("\"a,b,,c\".split(',', 2)", "[\"a\",\"b,,c\"]"),
        ("\"a,b,,c\".split_rev(',', 2)", "[\"c\",\"a,b,\"]"),
        ("\"a,b\".split(',', 0)", "[\"a,b\"]"),
        ("\"\".split(\",\")", "[\"\"]"),
        ("\"\".split()", "[\"\"]"),
        ("\"ab\".split(\"\")", "[\"\",\"a\",\"b\",\"\"]"),
        ("\"hé\".to_chars()", "[\"h\",\"é\"]"),
        ("\"hello\".split(2)", "[\"he\",\"llo\"]"),
        ("let a = [3, 1, 2, 1]; a.sort(|x, y| x - y); a", "[1,1,2,3]"),
        ("let a = [3, 1, 2]; a.sort(|x, y| x > y); a", "[3,2,1]"),
        ("let a = [3, 1, 2]; a.sort(); a", "[1,2,3]"),
        ("[[2, 1], [1, 2], [1, 1]].order(|x, y| x[0] - y[0])", "[[1,2],[1,1],[2,1]]"),
        ("let a = [1, 1, 2, 2, 1]; a.dedup(); a", "[1,2,1]"),
        ("let a = [1, \"1\", [1], [1]]; a.dedup(); a", "[1,\"1\",[1]]"),
        ("let a = [1, 3, 2]; a.dedup(|x, y| x % 2 == y % 2); a", "[1,2]"),
        ("let a = [1, 2, 3]; [a.pop(), a.shift(), a.remove(-1), a.pop()]", "[3,1,2,null]"),
        ("let a = [1, 2, 3, 4]; [a.drain(1, 2), a]", "[[2,3],[1,4]]"),
        ("let a = [1, 2, 3, 4]; [a.drain(1..3), a]", "[[2,3],[1,4]]"),
        ("let a = [1, 2, 3, 4]; [a.drain(-2, 9), a.split(1), a]", "[[3,4],[2],[1]]"),
        ("let m = #{a: 1, b: 2}; [m.remove(\"a\"), m.remove(\"z\"), m]", "[1,null,{\"b\":2}]"),
        ("let x = [1]; [take(x), x]", "[[1],null]"),
        ("parse_json(`{\"a\": [1, null]}`)", "{\"a\":[1,null]}"),
    ];
    for (expression, expected) in cases {
        let function = format!("doc = #{{v: {{ {expression} }} }}");
        let Edited::Changed(document) = run(&function, "{}").expect(expression) else {
            panic!("{expression} changed nothing")
        };
        assert_eq!(document["v"].to_string(), expected, "{expression}");
    }
}
