//! Beginnings of Korean words while they are typed.
//!
//! An input method shows letters that the next keystroke may change: on the way to 하늘 it shows 한, on the way to 사과 it shows 사고.

/// Last letter of a beginning → letters that it may become: its final consonant moves to the next syllable, or the
/// letter gets a second part. The fallback has the same table.
const CHANGES: &[(char, &[&str])] = &[
    ('\u{1169}', &["\u{116a}", "\u{116b}", "\u{116c}"]),
    ('\u{116e}', &["\u{116f}", "\u{1170}", "\u{1171}"]),
    ('\u{1173}', &["\u{1174}"]),
    ('\u{11a8}', &["\u{1100}", "\u{11aa}"]),
    ('\u{11a9}', &["\u{1101}"]),
    ('\u{11aa}', &["\u{11a8}\u{1109}"]),
    ('\u{11ab}', &["\u{1102}", "\u{11ac}", "\u{11ad}"]),
    ('\u{11ac}', &["\u{11ab}\u{110c}"]),
    ('\u{11ad}', &["\u{11ab}\u{1112}"]),
    ('\u{11ae}', &["\u{1103}"]),
    (
        '\u{11af}',
        &["\u{1105}", "\u{11b0}", "\u{11b1}", "\u{11b2}", "\u{11b3}", "\u{11b4}", "\u{11b5}", "\u{11b6}"],
    ),
    ('\u{11b0}', &["\u{11af}\u{1100}"]),
    ('\u{11b1}', &["\u{11af}\u{1106}"]),
    ('\u{11b2}', &["\u{11af}\u{1107}"]),
    ('\u{11b3}', &["\u{11af}\u{1109}"]),
    ('\u{11b4}', &["\u{11af}\u{1110}"]),
    ('\u{11b5}', &["\u{11af}\u{1111}"]),
    ('\u{11b6}', &["\u{11af}\u{1112}"]),
    ('\u{11b7}', &["\u{1106}"]),
    ('\u{11b8}', &["\u{1107}", "\u{11b9}"]),
    ('\u{11b9}', &["\u{11b8}\u{1109}"]),
    ('\u{11ba}', &["\u{1109}"]),
    ('\u{11bb}', &["\u{110a}"]),
    ('\u{11bc}', &["\u{110b}"]),
    ('\u{11bd}', &["\u{110c}"]),
    ('\u{11be}', &["\u{110e}"]),
    ('\u{11bf}', &["\u{110f}"]),
    ('\u{11c0}', &["\u{1110}"]),
    ('\u{11c1}', &["\u{1111}"]),
    ('\u{11c2}', &["\u{1112}"]),
];

/// Returns the beginnings that `word`, as analysed, may become with the next keystroke. Omits those that begin with
/// `word`.
pub fn typed_on(word: &str) -> impl Iterator<Item = String> {
    let last = word.chars().next_back();
    let changes = last.and_then(|last| CHANGES.iter().find(|(letter, _)| *letter == last));
    changes.into_iter().flat_map(|(letter, others)| {
        let start = &word[..word.len() - letter.len_utf8()];
        others.iter().map(move |other| format!("{start}{other}"))
    })
}
