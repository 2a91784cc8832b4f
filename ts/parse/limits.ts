/** How much JSON is too much? */

export interface JsonLimits {
  /** Values inside each other; deeper nesting is refused as malformed. */
  readonly depthMax: number
  /**
   * Values of one text, arrays and objects included. A value takes a hundred bytes while it is read, however short it
   * is written, so that a body within the limit of its bytes could still fill the memory. In a list that holds numbers
   * alone, `NUMBERS_PER_VALUE` numbers count as one.
   */
  readonly valuesMax: number
}

/** Source of the depth: the limit of the reference's JSON reader. */
export const defaultJsonLimits: JsonLimits = { depthMax: 128, valuesMax: 2_000_000 }

/** Numbers in a list of their own take eight bytes each instead of a hundred. */
export const NUMBERS_PER_VALUE = 16
/** A longer list of numbers is read number by number, so that it can be read in slices: 128 KiB take 2 ms at once. */
export const NUMBERS_CHARS_MAX = 131_072

/** Characters of an offending literal that messages show. */
export const LITERAL_CHARS_MAX = 200

/** How long reading a long text may hold the event loop before others get their turn. */
export const SLICE_MS = 8
/** Steps between looks at the clock; a step takes 0.1 to 0.3 µs. */
export const STEPS_PER_LOOK = 256
