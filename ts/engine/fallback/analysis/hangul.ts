/**
 * Beginnings of Korean words while they are typed.
 *
 * An input method shows letters that the next letter changes: on the way to 하늘 it shows 한, on the way to 사과 it shows 사고.
 */

/**
 * Last letter of a beginning → letters that it may become: the final consonant begins the next syllable, or the letter gets a second
 * part. The native engine has the same table.
 */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  '\u1169': ['\u116a', '\u116b', '\u116c'],
  '\u116e': ['\u116f', '\u1170', '\u1171'],
  '\u1173': ['\u1174'],
  '\u11a8': ['\u1100', '\u11aa'],
  '\u11a9': ['\u1101'],
  '\u11aa': ['\u11a8\u1109'],
  '\u11ab': ['\u1102', '\u11ac', '\u11ad'],
  '\u11ac': ['\u11ab\u110c'],
  '\u11ad': ['\u11ab\u1112'],
  '\u11ae': ['\u1103'],
  '\u11af': ['\u1105', '\u11b0', '\u11b1', '\u11b2', '\u11b3', '\u11b4', '\u11b5', '\u11b6'],
  '\u11b0': ['\u11af\u1100'],
  '\u11b1': ['\u11af\u1106'],
  '\u11b2': ['\u11af\u1107'],
  '\u11b3': ['\u11af\u1109'],
  '\u11b4': ['\u11af\u1110'],
  '\u11b5': ['\u11af\u1111'],
  '\u11b6': ['\u11af\u1112'],
  '\u11b7': ['\u1106'],
  '\u11b8': ['\u1107', '\u11b9'],
  '\u11b9': ['\u11b8\u1109'],
  '\u11ba': ['\u1109'],
  '\u11bb': ['\u110a'],
  '\u11bc': ['\u110b'],
  '\u11bd': ['\u110c'],
  '\u11be': ['\u110e'],
  '\u11bf': ['\u110f'],
  '\u11c0': ['\u1110'],
  '\u11c1': ['\u1111'],
  '\u11c2': ['\u1112'],
}

/** Returns the beginnings that an analysed `word` may become with the next letter, without those that begin with `word`. */
export const typedOn = (word: string): readonly string[] =>
  (CHANGES[word.at(-1) ?? ''] ?? []).map((letters) => word.slice(0, -1) + letters)
