/**
 * Ends a test process as soon as nothing is left to do. Without this, Node.js 20 rarely never ends: while it frees the
 * process it waits for requests that get no answer any more.
 */
import { registerCompletionHandler } from 'ava'

/** A process that still has something to do so long after its last test fails. */
const LEFT_MS = 60_000

registerCompletionHandler(() => {
  process.once('beforeExit', () => process.exit())
  // ava waits for ever for such a process if another file has set a longer limit for one of its tests.
  setTimeout(() => {
    console.error(`not ended ${LEFT_MS / 1000} s after the last test: ${process.getActiveResourcesInfo()}`)
    process.exit(1)
  }, LEFT_MS).unref()
})
