//! Bounded versions of the interpreter's functions that could grow or loop without limit.
//!
//! The interpreter checks steps, sizes and the clock between function calls, not inside them. So a function is safe if
//! its result is at most a few times as large as its arguments: the next step notices. These functions are not safe:
//!
//! | functions | problem | bounded version |
//! |---|---|---|
//! | `replace` | multiplies two strings | adds up sizes first |
//! | `pad` of a string with an empty one | never ends | does nothing |
//! | `split`, `split_rev`, `to_chars` | make values of up to 70 bytes of each byte | count parts first |
//! | `sort`, `sort_by`, `order`, `order_by`, `dedup` with a function | continue after the function fails or time is up
//! | stop at the first failure |
//! | `pop`, `shift`, `remove`, `take`, `drain`, `split` of an array | move a value without copying it, so that nesting
//! it takes no memory that would reveal its depth | limit the depth of the moved value |
//! | `parse_json` | makes an expression of each value | counts values first |
//!
//! Objects (`+`, `mixin`, `fill_with`), arrays (`+`, `append`, `insert`, `splice`, `extract`, `zip`, `map`, `filter`),
//! strings (`+`, `to_upper`, `sub_string`, `crop`, `remove`, `to_blob`), printing (`to_string`, `to_debug`, `to_json`)
//! and blobs make at most the sum of their arguments, or six times that with escapes. `pad` of arrays and blobs and
//! `blob` check the interpreter's limits first. Callbacks of all other functions count as steps.

use std::ops::{Range, RangeInclusive};

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, Map, NativeCallContext, Position};

use crate::limits::{ELEMENTS_MAX, JSON_MARKS_MAX, MOVED_DEPTH_MAX, STRING_BYTES_MAX};

type Outcome<T> = Result<T, Box<EvalAltResult>>;

fn too_large(what: &str) -> Box<EvalAltResult> {
    EvalAltResult::ErrorDataTooLarge(what.to_owned(), Position::NONE).into()
}

/// Registers the bounded versions, which override those of the packages.
pub fn register(engine: &mut Engine) {
    register_strings(engine);
    register_orders(engine);
    register_moves(engine);
    engine.register_fn("parse_json", |context: NativeCallContext<'_>, text: &str| -> Outcome<Map> {
        let marks = text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if marks > JSON_MARKS_MAX {
            Err(too_large("Size of array/BLOB"))
        } else {
            context.engine().parse_json(text, true)
        }
    });
}

fn register_strings(engine: &mut Engine) {
    engine
        .register_fn("replace", |text: &mut ImmutableString, find: &str, by: &str| replace(text, find, by))
        .register_fn("replace", |text: &mut ImmutableString, find: &str, by: char| {
            replace(text, find, by.encode_utf8(&mut [0; 4]))
        })
        .register_fn("replace", |text: &mut ImmutableString, find: char, by: &str| {
            replace(text, find.encode_utf8(&mut [0; 4]), by)
        })
        .register_fn("replace", |text: &mut ImmutableString, find: char, by: char| {
            replace(text, find.encode_utf8(&mut [0; 4]), by.encode_utf8(&mut [0; 4]))
        })
        .register_fn("pad", pad)
        .register_fn("to_chars", |text: &str| parts(text.chars()))
        .register_fn("split", |text: &mut ImmutableString| {
            if text.is_empty() { Ok(vec![text.clone().into()]) } else { parts(text.split_whitespace()) }
        })
        .register_fn("split", |text: &mut ImmutableString, by: &str| parts(text.split(by)))
        .register_fn("split", |text: &mut ImmutableString, by: char| parts(text.split(by)))
        .register_fn("split", |text: &mut ImmutableString, by: &str, most: i64| {
            parts(text.splitn(count(most), by))
        })
        .register_fn("split", |text: &mut ImmutableString, by: char, most: i64| {
            parts(text.splitn(count(most), by))
        })
        .register_fn("split_rev", |text: &mut ImmutableString, by: &str| parts(text.rsplit(by)))
        .register_fn("split_rev", |text: &mut ImmutableString, by: char| parts(text.rsplit(by)))
        .register_fn("split_rev", |text: &mut ImmutableString, by: &str, most: i64| {
            parts(text.rsplitn(count(most), by))
        })
        .register_fn("split_rev", |text: &mut ImmutableString, by: char, most: i64| {
            parts(text.rsplitn(count(most), by))
        });
}

/// Converts a number of parts; at least one.
fn count(most: i64) -> usize {
    usize::try_from(most.max(1)).unwrap_or(usize::MAX)
}

fn replace(text: &mut ImmutableString, find: &str, by: &str) -> Outcome<()> {
    if text.is_empty() {
        return Ok(());
    }
    let matches = text.matches(find).count();
    let added = matches.saturating_mul(by.len());
    if added.saturating_add(text.len() - matches * find.len()) > STRING_BYTES_MAX {
        return Err(too_large("Length of string"));
    }
    *text = text.replace(find, by).into();
    Ok(())
}

/// Appends `padding` until `text` has `length` characters.
fn pad(text: &mut ImmutableString, length: i64, padding: &str) -> Outcome<()> {
    let length = usize::try_from(length.max(0)).unwrap_or(usize::MAX);
    let lacking = length.saturating_sub(text.chars().count());
    if lacking == 0 || padding.is_empty() {
        return Ok(());
    }
    if length > STRING_BYTES_MAX {
        return Err(too_large("Length of string"));
    }
    let padded: String = text.chars().chain(padding.chars().cycle().take(lacking)).collect();
    *text = padded.into();
    Ok(())
}

fn parts<T: Into<Dynamic>>(parts: impl Iterator<Item = T>) -> Outcome<Array> {
    let mut array = Array::new();
    for part in parts {
        if array.len() == ELEMENTS_MAX {
            return Err(too_large("Size of array/BLOB"));
        }
        array.push(part.into());
    }
    Ok(array)
}

fn register_orders(engine: &mut Engine) {
    for name in ["sort", "sort_by"] {
        engine.register_fn(
            name,
            |context: NativeCallContext<'_>, array: &mut Array, comparer: FnPtr| -> Outcome<()> {
                *array = ordered(&context, std::mem::take(array), &comparer)?;
                Ok(())
            },
        );
    }
    for name in ["order", "order_by"] {
        engine.register_fn(
            name,
            |context: NativeCallContext<'_>, array: &mut Array, comparer: FnPtr| -> Outcome<Array> {
                ordered(&context, array.clone(), &comparer)
            },
        );
    }
    engine
        .register_fn("dedup", |context: NativeCallContext<'_>, array: &mut Array| -> Outcome<()> {
            dedup(array, |one, other| {
                let (mut one, mut other) = (one.clone(), other.clone());
                context.call_native_fn_raw("==", true, &mut [&mut one, &mut other])
            })
        })
        .register_fn(
            "dedup",
            |context: NativeCallContext<'_>, array: &mut Array, comparer: FnPtr| -> Outcome<()> {
                dedup(array, |one, other| comparer.call_raw(&context, None, [one.clone(), other.clone()]))
            },
        );
}

/// Merge sort that stops when `comparer` fails. Its order need not be consistent.
fn ordered(context: &NativeCallContext<'_>, mut array: Array, comparer: &FnPtr) -> Outcome<Array> {
    let mut width = 1;
    while width < array.len() {
        let mut merged = Array::with_capacity(array.len());
        let mut rest = array.into_iter().peekable();
        while rest.peek().is_some() {
            let left: Array = rest.by_ref().take(width).collect();
            let right: Array = rest.by_ref().take(width).collect();
            let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
            while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
                let goes_first = !is_greater(context, comparer, one, other)?;
                merged.extend(if goes_first { left.next() } else { right.next() });
            }
            merged.extend(left);
            merged.extend(right);
        }
        array = merged;
        width *= 2;
    }
    Ok(array)
}

/// Returns true if `one` comes after `other`. The comparer returns a number with a sign, or true if `one` comes first.
fn is_greater(
    context: &NativeCallContext<'_>,
    comparer: &FnPtr,
    one: &Dynamic,
    other: &Dynamic,
) -> Outcome<bool> {
    let said = comparer.call_raw(context, None, [one.clone(), other.clone()])?;
    let number = said.as_int().or_else(|_| said.as_bool().map(|is_first| if is_first { -1 } else { 1 }));
    Ok(number.is_ok_and(|number| number > 0))
}

/// Removes each element that equals the previous one.
fn dedup(array: &mut Array, equals: impl Fn(&Dynamic, &Dynamic) -> Outcome<Dynamic>) -> Outcome<()> {
    let mut left = Array::new();
    for element in std::mem::take(array) {
        let is_same = match left.last() {
            Some(last) => equals(last, &element)?.as_bool().unwrap_or(false),
            None => false,
        };
        if !is_same {
            left.push(element);
        }
    }
    *array = left;
    Ok(())
}

fn register_moves(engine: &mut Engine) {
    engine
        .register_fn("take", |value: &mut Dynamic| -> Outcome<Dynamic> {
            if value.is_read_only() {
                let name = "take".to_owned();
                return Err(EvalAltResult::ErrorNonPureMethodCallOnConstant(name, Position::NONE).into());
            }
            moved(std::mem::take(value))
        })
        .register_fn("pop", |array: &mut Array| moved(array.pop().unwrap_or(Dynamic::UNIT)))
        .register_fn("shift", |array: &mut Array| {
            moved(if array.is_empty() { Dynamic::UNIT } else { array.remove(0) })
        })
        .register_fn("remove", |array: &mut Array, index: i64| {
            moved(position(index, array.len()).map_or(Dynamic::UNIT, |at| array.remove(at)))
        })
        .register_fn("remove", |map: &mut Map, key: &str| moved(map.remove(key).unwrap_or(Dynamic::UNIT)))
        .register_fn("drain", |array: &mut Array, start: i64, length: i64| {
            let (start, end) = range(start, length, array.len());
            all_moved(array.drain(start..end).collect())
        })
        .register_fn("drain", |array: &mut Array, part: Range<i64>| {
            let (start, end) = part_of(part.start, part.end, array.len());
            all_moved(array.drain(start..end).collect())
        })
        .register_fn("drain", |array: &mut Array, part: RangeInclusive<i64>| {
            let (start, end) = part_of(*part.start(), part.end().saturating_add(1), array.len());
            all_moved(array.drain(start..end).collect())
        })
        .register_fn("split", |array: &mut Array, index: i64| {
            let (start, _) = range(index, i64::MAX, array.len());
            all_moved(array.split_off(start))
        });
}

/// Resolves an index, which counts from the end if negative.
fn position(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { length.checked_sub(distance) } else { (distance < length).then_some(distance) }
}

/// Resolves a part of an array, given by its start (from the end if negative) and its length.
fn range(start: i64, length: i64, array_length: usize) -> (usize, usize) {
    let distance = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
    let start = if start < 0 { array_length.saturating_sub(distance) } else { distance.min(array_length) };
    let length = usize::try_from(length.max(0)).unwrap_or(usize::MAX);
    (start, start.saturating_add(length).min(array_length))
}

/// Resolves a part of an array, given by its start and end, both from the beginning.
fn part_of(start: i64, end: i64, array_length: usize) -> (usize, usize) {
    let start = start.max(0);
    range(start, end.max(start) - start, array_length)
}

fn moved(value: Dynamic) -> Outcome<Dynamic> {
    if is_deeper(&value, MOVED_DEPTH_MAX) { Err(too_large("Nesting of value")) } else { Ok(value) }
}

fn all_moved(array: Array) -> Outcome<Array> {
    match array.iter().any(|value| is_deeper(value, MOVED_DEPTH_MAX)) {
        true => Err(too_large("Nesting of value")),
        false => Ok(array),
    }
}

/// Returns true if a value has more than `levels` levels.
fn is_deeper(value: &Dynamic, levels: usize) -> bool {
    if let Some(array) = value.read_lock::<Array>() {
        return levels == 0 || array.iter().any(|value| is_deeper(value, levels - 1));
    }
    if let Some(map) = value.read_lock::<Map>() {
        return levels == 0 || map.values().any(|value| is_deeper(value, levels - 1));
    }
    false
}
