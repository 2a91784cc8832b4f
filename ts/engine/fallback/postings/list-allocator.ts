/** Here is a list of so many numbers: which array holds it? */

/** Lists shorter than this share an array: one of its own costs more than they hold. */
const SHARED_NUMBERS_MAX = 4096
/** Numbers of a shared array. Large enough that the system gets its memory back as a whole. */
const SHARED_NUMBERS = 256 * 1024

/**
 * Allocates lists that are made together.
 *
 * A shared array lives as long as any list in it. So what is made together should go together: lists that are
 * replaced one by one are better off with arrays of their own.
 */
export class ListAllocator {
  private shared = new Uint32Array(0)
  private used = 0

  /** Zeroes. */
  allocate(size: number): Uint32Array {
    if (size >= SHARED_NUMBERS_MAX) return new Uint32Array(size)
    if (this.used + size > this.shared.length) {
      this.shared = new Uint32Array(SHARED_NUMBERS)
      this.used = 0
    }
    this.used += size
    return this.shared.subarray(this.used - size, this.used)
  }
}

/** Gives every list an array of its own. */
export const separateArrays: Pick<ListAllocator, 'allocate'> = { allocate: (size) => new Uint32Array(size) }
