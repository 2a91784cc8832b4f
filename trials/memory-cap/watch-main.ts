/**
 * A process that looks at the memory of another: `node watch-main.js PID`.
 *
 * It is one of its own, so that no work of who loads the documents delays a look. It answers any message with the
 * highest figures so far, and ends with its parent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { higher, type Memory, memoryOf } from './memory.js'

const PAUSE_MS = 20

const pid = Number(process.argv[2])
let peak: Memory = memoryOf(pid)
process.on('message', () => process.send?.(peak))
process.on('disconnect', () => process.exit())
for (;;) {
  await sleep(PAUSE_MS)
  try {
    peak = higher(peak, memoryOf(pid))
  } catch {
    // The process has ended; its peak remains.
    break
  }
}
