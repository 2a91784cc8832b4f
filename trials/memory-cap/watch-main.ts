/**
 * Measures the memory of another process: `node watch-main.js PID`.
 *
 * Runs as a separate process, so that the work of the loader does not delay the measurements. Answers any message
 * with the peak figures so far, and ends with its parent.
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
    // The watched process has ended. Its peak remains.
    break
  }
}
