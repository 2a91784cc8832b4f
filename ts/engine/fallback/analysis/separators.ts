/**
 * Separators of words, soft and hard.
 *
 * Source: search §2.2. The tables list code points in hexadecimal, with inclusive ranges.
 */

const SOFT_AND_HARD = `0 9-A D 20-23 25-2F 3A-3B 3F-40 5B-5D 5F-60 7B 7D A1 A7 AB B1 B6-B7 BB BF D7 F7 55A-55F
589-58A 5BE 5C0 5C3 5C6 5F3-5F4 609-60A 60C-60D 61B 61E-61F 66A 66D 6D4 700-70D 7F7-7F9 830-83E 85E 964-965 970
9FD A76 AF0 C77 C84 DF4 E4F E5A-E5B F04-F0B F0D-F12 F14 F3A-F3D F85 FD0-FD4 FD9-FDA 104A-104F 10FB 1360-1368 1400
166E 1680 169B-169C 16EB-16ED 1735-1736 17D4-17D6 17D8-17DA 1800-180A 1944-1945 1A1E-1A1F 1AA0-1AA6 1AA8-1AAD
1B5A-1B60 1BFC-1BFF 1C3B-1C3F 1C7E-1C7F 1CC0-1CC7 1CD3 2002-200A 200C 2010 2012-2027 2029 2030-2043 2045-2051
2053-205E 207D-207E 208D-208E 2212-2225 2227-228D 228F-22FF 2308-230B 2768-2775 27C5-27C6 27E6-27EF 2983-2998
29D8-29DB 29FC-29FD 2CF9-2CFC 2CFE-2CFF 2D70 2E00-2E2E 2E30-2E4F 2E52 3000-3003 3008-3011 3014-301F 3030 303D 30A0
30FB A4FE-A4FF A60D-A60F A673 A67E A6F2-A6F7 A874-A877 A8CE-A8CF A8F8-A8FA A8FC A92E-A92F A95F A9C1-A9CD A9DE-A9DF
AA5C-AA5F AADE-AADF AAF0-AAF1 ABEB FD3E-FD3F FE10-FE19 FE30-FE52 FE54-FE61 FE63 FE68 FE6A-FE6B FF01-FF03 FF05-FF0A
FF0C-FF0F FF1A-FF1B FF1F-FF20 FF3B-FF3D FF3F FF5B FF5D FF5F-FF65`

const HARD = `0 21 3B 3F A1 A7 B6 BF 55C-55E 589 5C3 60C 61B 61F 6D4 700-709 7F7-7F9 830-835 838-83E 85E 964-965 DF4
E5A-E5B F04-F0A F0D-F12 F14 FD0-FD4 104A-104B 10FB 1362-1368 169B-169C 16EB-16ED 1735-1736 17D4-17D6 17D8 17DA
1800-1806 1808-1809 1944-1945 1A1F 1AA8-1AAD 1B5A-1B60 1BFC-1BFF 1C3B-1C3F 1C7E-1C7F 1CC0-1CC7 203B-203D 204F 2056
205A 2CF9-2CFC 2CFE 2E18 2E2E 2E41 3001-3002 A4FE-A4FF A60D-A60F A6F2-A6F7 A876-A877 A8CE-A8CF A92F A95F A9C3-A9CD
AA5C-AA5F AADF AAF0-AAF1 ABEB FE45`

const SEVERAL_CHARACTERS = ['. ', ', ', '។ល។']

function characters(table: string): string[] {
  return table.split(/\s+/).flatMap((range) => {
    const [from, to] = range.split('-').map((hex) => Number.parseInt(hex, 16)) as [number, number?]
    return Array.from({ length: (to ?? from) - from + 1 }, (_, step) => String.fromCodePoint(from + step))
  })
}

/** Separators of a new index. Beyond the basic plane every punctuation character is a separator, see `Separators`. */
const defaultSeparators: readonly string[] = [...characters(SOFT_AND_HARD), ...SEVERAL_CHARACTERS]
const hardSeparators: ReadonlySet<string> = new Set([...characters(HARD), ...SEVERAL_CHARACTERS])
const PUNCTUATION = /^\p{P}$/u

/** Hardness of a separator; 0 for other tokens. */
export const SOFT = 1
export const HARD_SEPARATOR = 2
type Hardness = 0 | typeof SOFT | typeof HARD_SEPARATOR

/** Strings with the same first unit. A dictionary may have many, so they are looked up by each occurring length. */
interface SplitStrings {
  readonly texts: Set<string>
  /** Longest first. */
  lengths: readonly number[]
}

/** Separators and dictionary entries of an index, indexed for tokenizing. */
export class Separators {
  private readonly active: ReadonlySet<string>
  /** First UTF-16 unit → all strings to split off that start with it. */
  private readonly byFirst = new Map<number, SplitStrings>()
  /** 1 for each basic-plane character that is a separator and not the start of a longer string. */
  readonly single = new Uint8Array(0x10000)

  constructor(added: readonly string[], removed: readonly string[], dictionary: readonly string[]) {
    const active = new Set([...defaultSeparators, ...added])
    for (const text of removed) active.delete(text)
    active.delete('')
    this.active = active
    for (const text of new Set([...active, ...dictionary])) {
      if (text === '') continue
      const first = text.charCodeAt(0)
      const strings = this.byFirst.get(first) ?? { texts: new Set(), lengths: [] }
      strings.texts.add(text)
      this.byFirst.set(first, strings)
    }
    for (const [first, strings] of this.byFirst) {
      const lengths = new Set(Array.from(strings.texts, ({ length }) => length))
      strings.lengths = [...lengths].sort((a, b) => b - a)
      if (strings.texts.size === 1 && lengths.has(1)) {
        this.single[first] = 1
        this.byFirst.delete(first)
      }
    }
  }

  /** Length in UTF-16 units of the separator or dictionary entry at `at`; 0 if there is none. */
  matchLength(text: string, at: number): number {
    const unit = text.charCodeAt(at)
    if (this.single[unit] === 1) return 1
    const strings = this.byFirst.get(unit)
    if (strings !== undefined) {
      const left = text.length - at
      const found = strings.lengths.find(
        (length) => length <= left && strings.texts.has(text.slice(at, at + length)),
      )
      if (found !== undefined) return found
    }
    if (unit >= 0xd800 && unit < 0xdc00) {
      const character = String.fromCodePoint(text.codePointAt(at)!)
      if (character.length === 2 && PUNCTUATION.test(character)) return 2
    }
    return 0
  }

  /** @param decomposed NFKD form of a token */
  hardness(decomposed: string): Hardness {
    const separates =
      this.active.has(decomposed) ||
      (decomposed.length === 2 && decomposed.charCodeAt(0) >= 0xd800 && PUNCTUATION.test(decomposed))
    if (!separates) return 0
    return hardSeparators.has(decomposed) ? HARD_SEPARATOR : SOFT
  }
}
