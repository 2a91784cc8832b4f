//! Any text is a valid query: searches with any words, phrases and exclusions succeed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|input: (u8, &str)| {
    let (choice, query) = input;
    let strategy = ["last", "all", "frequency"][usize::from(choice) % 3];
    let answer = fuzz::search(json!({
        "q": query, "matchingStrategy": strategy, "showRankingScoreDetails": choice >= 128,
    }));
    let hits = answer["hits"].as_array().expect("there are hits").len() as u64;
    assert!(answer["estimatedTotalHits"].as_u64().expect("they are counted") >= hits, "{answer}");
});
