//! Without its marks, a highlighted text equals the original; a cropped text is a part of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};

const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

fuzz_target!(|input: (u8, &str)| {
    let (crop, query) = input;
    let mut parameters = json!({
        "q": query, "attributesToHighlight": ["*"], "showMatchesPosition": true, "cropLength": crop,
        "highlightPreTag": MARKS[0], "highlightPostTag": MARKS[1], "cropMarker": "",
    });
    let cropped = crop > 0;
    if cropped {
        parameters["attributesToCrop"] = json!(["*"]);
    }
    let answer = fuzz::search(parameters);
    for hit in answer["hits"].as_array().expect("there are hits") {
        compare(hit, &hit["_formatted"], cropped);
    }
});

/// Compares the strings of a document and of its formatted version.
fn compare(whole: &Json, formatted: &Json, cropped: bool) {
    match (whole, formatted) {
        (Json::String(whole), Json::String(formatted)) => {
            let bare = formatted.replace(MARKS, "");
            assert!(*whole == bare || (cropped && whole.contains(&bare)), "{whole:?} became {formatted:?}");
        }
        (Json::Array(whole), Json::Array(formatted)) => {
            whole.iter().zip(formatted).for_each(|(whole, formatted)| compare(whole, formatted, cropped));
        }
        (Json::Object(whole), Json::Object(formatted)) => {
            for (key, formatted) in formatted {
                compare(&whole[key], formatted, cropped);
            }
        }
        _ => {}
    }
}
