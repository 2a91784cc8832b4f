/** Keeps the heap of a sync small. V8 otherwise lets garbage grow with the memory of the machine. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of the heap and of buffers above which garbage is collected. An idle sync uses half of it. */
const HEAP_BYTES_AIM = 44 * 1024 * 1024
/** Least bytes of garbage that are worth a collection. */
const GARBAGE_BYTES_MIN = 12 * 1024 * 1024

/** Returns a function to call often. It collects garbage if the heap has grown, which takes about 20 ms. */
export function heapLimit(): () => void {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  let limit = HEAP_BYTES_AIM
  return () => {
    if (usedBytes() < limit) return
    collectGarbage()
    limit = Math.max(HEAP_BYTES_AIM, usedBytes() + GARBAGE_BYTES_MIN)
  }
}

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: buffers } = getHeapStatistics()
  return heap + buffers
}
