//! 1. An entry is found by its own owner, kind and key only.
//! 2. All entries together stay within the limit, whatever their sizes.
//! 3. Entries in repeated use outlive entries used once.
//! 4. Entries are removed some time after their owner.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Cache, CachedKind, Kind, Owner};

/// Texts by text. The value is the heap size that the entry claims.
struct Texts;

impl CachedKind for Texts {
    const KIND: Kind = Kind::Documents;
    type Key = Box<str>;
    type Value = usize;

    fn bytes(key: &Box<str>, value: &usize) -> usize {
        key.len() + value
    }
}

/// Same types as [`Texts`].
struct OtherTexts;

impl CachedKind for OtherTexts {
    const KIND: Kind = Kind::Filters;
    type Key = Box<str>;
    type Value = usize;

    fn bytes(key: &Box<str>, value: &usize) -> usize {
        Texts::bytes(key, value)
    }
}

fn insert(owner: &Owner, key: &str, bytes: usize) {
    owner.insert::<Texts>(key.into(), &Arc::new(bytes));
}

fn get(owner: &Owner, key: &str) -> Option<usize> {
    owner.get::<Texts>(key).map(|bytes| *bytes)
}

fn bytes_of(cache: &Cache, kind: Kind) -> usize {
    cache.figures().kinds[kind as usize].bytes
}

#[test]
fn an_entry_is_found_by_its_own_owner_kind_and_key_only() {
    let cache = Cache::new(1 << 20);
    let (first, second) = (cache.owner(), cache.owner());
    insert(&first, "a", 1);
    insert(&second, "a", 2);
    first.insert::<OtherTexts>("a".into(), &Arc::new(3));
    assert_eq!((get(&first, "a"), get(&second, "a")), (Some(1), Some(2)));
    assert_eq!(first.get::<OtherTexts>("a").as_deref(), Some(&3));
    assert_eq!((get(&first, "b"), second.get::<OtherTexts>("a")), (None, None));
}

#[test]
fn a_value_replaces_the_earlier_one() {
    let cache = Cache::new(1 << 20);
    let owner = cache.owner();
    insert(&owner, "a", 1000);
    let before = cache.figures().bytes();
    insert(&owner, "a", 3000);
    assert_eq!(get(&owner, "a"), Some(3000));
    assert_eq!(cache.figures().bytes(), before + 2000);
    assert_eq!(cache.figures().kinds[Kind::Documents as usize].entries, 1);
}

#[test]
fn hits_and_misses_are_counted_by_kind() {
    let cache = Cache::new(1 << 20);
    let owner = cache.owner();
    insert(&owner, "a", 1);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (get(&owner, "a"), get(&owner, "b"), get(&owner, "c")));
        }
    });
    let figures = cache.figures();
    let texts = &figures.kinds[Kind::Documents as usize];
    assert_eq!((texts.kind, texts.hits, texts.misses), ("documents", 3, 6));
    assert!(figures.kinds.iter().all(|kind| kind.kind == "documents" || kind.hits + kind.misses == 0));
}

#[test]
fn a_cache_of_zero_bytes_stores_nothing() {
    let cache = Cache::new(0);
    let owner = cache.owner();
    insert(&owner, "a", 0);
    assert_eq!(get(&owner, "a"), None);
    assert_eq!(cache.figures().bytes(), 0);
}

#[test]
fn entries_in_repeated_use_outlive_entries_used_once() {
    let cache = Cache::new(1 << 20);
    let owner = cache.owner();
    let working_set: Vec<String> = (0..8).map(|text| format!("again {text}")).collect();
    working_set.iter().for_each(|key| insert(&owner, key, 1 << 14));
    for text in 0..10_000 {
        insert(&owner, &format!("once {text}"), 1 << 14);
        working_set.iter().for_each(|key| assert!(get(&owner, key).is_some(), "{key} after {text}"));
    }
}

#[test]
fn entries_are_removed_after_some_owners_are_dropped() {
    let cache = Cache::new(1 << 20);
    let stays = cache.owner();
    insert(&stays, "a", 1);
    let bytes = bytes_of(&cache, Kind::Documents);
    for _ in 0..super::shared::GONE_MAX {
        insert(&cache.owner(), "a", 1);
    }
    assert_eq!(bytes_of(&cache, Kind::Documents), bytes);
    assert_eq!(get(&stays, "a"), Some(1));
}

#[test]
fn names_of_kinds_are_unique() {
    let names: std::collections::BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
}

proptest! {
    #[test]
    fn entries_stay_within_the_limit_and_return_the_stored_value(
        bytes_max in 0..100_000usize,
        steps in proptest::collection::vec((0..4usize, 0..40u8, 0..60_000usize, any::<bool>()), 0..400),
    ) {
        let cache = Cache::new(bytes_max);
        let owners: Vec<Owner> = (0..4).map(|_| cache.owner()).collect();
        let mut newest = std::collections::HashMap::new();
        for (owner, key, bytes, puts) in steps {
            if puts {
                insert(&owners[owner], &key.to_string(), bytes);
                newest.insert((owner, key), bytes);
            } else if let Some(found) = get(&owners[owner], &key.to_string()) {
                prop_assert_eq!(Some(&found), newest.get(&(owner, key)));
            }
            prop_assert!(cache.figures().bytes() <= bytes_max);
        }
    }
}
