/**
 * Ends a test process as soon as nothing is left to do. While Node.js 20 frees a process, it rarely waits for
 * ever, at full load of a core, for requests to a killed server.
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
