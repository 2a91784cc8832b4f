/** Limits for the size of JSON, and for the time that reading it blocks the event loop. */

export interface JsonLimits {
  /** Levels of nested values. Deeper nesting is refused as malformed. */
  readonly depthMax: number
  /**
   * Values of a text, including arrays and objects. Each takes about a hundred bytes of memory while it is read,
   * however short its text, so a limit of bytes alone would not bound the memory. In an array of numbers,
   * `NUMBERS_PER_VALUE` numbers count as a single value.
   */
  readonly valuesMax: number
}

/** The depth limit is the same as in the reference's JSON parser. */
export const defaultJsonLimits: JsonLimits = { depthMax: 128, valuesMax: 2_000_000 }

/** Numbers that count as one value in an array of numbers. There each takes eight bytes of memory, not a hundred. */
export const NUMBERS_PER_VALUE = 16
/**
 * Characters up to which an array of numbers is read at once. A longer one is read in slices: 128 KiB at once take 2
 * ms.
 */
export const NUMBERS_CHARS_MAX = 131_072

/** Characters of a value that an error message shows. */
export const LITERAL_CHARS_MAX = 200

/** Milliseconds of one slice of reading a long text. */
export const SLICE_MS = 8
/** Steps of the parser between two checks of the time. Measured: a step takes 0.1 to 0.3 µs. */
export const STEPS_PER_CHECK = 256
