/**
 * The uids that an instance gives to its tasks and batches: all whose remainder by `modulus` is `rest`. Instances with
 * different remainders share one space of uids.
 */
export interface UidClass {
  readonly modulus: number
  readonly rest: number
}

/** The class of an instance that shares its uids with no other. */
export const everyUid: UidClass = { modulus: 1, rest: 0 }

/** Returns the lowest uid of a class that is not below `least`. */
export const firstUid = (least: number, { modulus, rest }: UidClass): number =>
  least + ((((rest - least) % modulus) + modulus) % modulus)
