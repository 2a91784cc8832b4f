/**
 * Ends a test process as soon as nothing is left to do. Without this, Node.js 20 rarely never ends: while it frees the
 * process it waits for requests that get no answer any more.
 */
import { registerCompletionHandler } from 'ava'

registerCompletionHandler(() => {
  process.once('beforeExit', () => process.exit())
})
