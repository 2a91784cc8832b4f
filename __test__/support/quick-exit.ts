/**
 * Ends a test process as soon as nothing but timers is left. The official client leaves the timer of each wait for a task
 * that throws. Node.js 20 sometimes does not end a process by itself: it keeps a core busy and waits for requests to a
 * killed server.
 */
import { registerCompletionHandler } from 'ava'

const LOOK_MS = 100
/** A process that still has something to do so long after its last test fails. */
const LEFT_MS = 60_000
/** Standard output and error, the channel to ava, and timers. */
const ignored: ReadonlySet<string> = new Set(['PipeWrap', 'Timeout'])

registerCompletionHandler(() => {
  process.once('beforeExit', () => process.exit())
  const left = (): readonly string[] => process.getActiveResourcesInfo().filter((name) => !ignored.has(name))
  setInterval(() => {
    if (left().length === 0) process.exit()
  }, LOOK_MS).unref()
  // ava does not end such a process if another file has set a longer limit for one of its tests.
  setTimeout(() => {
    console.error(`not ended ${LEFT_MS / 1000} s after the last test: ${left()}`)
    process.exit(1)
  }, LEFT_MS).unref()
})
