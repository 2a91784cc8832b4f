/** Allocates posting lists. */

/** Shorter lists share an array: the overhead of an own array would exceed its contents. */
const SHARED_NUMBERS_MAX = 4096
/** Length of a shared array. Large enough that its memory is returned to the system as a unit. */
const SHARED_NUMBERS = 256 * 1024

/**
 * Allocates lists that are created together.
 *
 * A shared array lives as long as any of its lists. So only lists that are replaced together should share an array;
 * lists that are replaced separately should have their own.
 */
export class ListAllocator {
  private shared = new Uint32Array(0)
  private used = 0

  /** Returns an array of zeros. */
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

export const separateArrays: Pick<ListAllocator, 'allocate'> = { allocate: (size) => new Uint32Array(size) }
