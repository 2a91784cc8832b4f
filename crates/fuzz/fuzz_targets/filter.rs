//! Any text is read as a filter or refused with a place inside it; what is read survives printing.
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
