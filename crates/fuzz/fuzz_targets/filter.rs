//! Any text is parsed as a filter or rejected with a position inside it; a parsed filter survives printing.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match filter_grammar::parse(text) {
    Ok(Some(tree)) => {
        let printed = tree.to_string();
        assert_eq!(filter_grammar::parse(&printed), Ok(Some(tree)), "{printed}");
    }
    Ok(None) => assert!(text.trim().is_empty()),
    Err(error) => {
        assert!(text.get(error.span.clone()).is_some(), "{error:?}");
        assert!(error.to_string().ends_with(text));
    }
});
