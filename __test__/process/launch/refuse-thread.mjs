/** Loaded before the program: the fourth thread for searches cannot be started. Those before and after it can. */
import { createRequire, syncBuiltinESMExports } from 'node:module'

const threads = createRequire(import.meta.url)('node:worker_threads')

if (threads.isMainThread) {
  let started = 0
  threads.Worker = class extends threads.Worker {
    constructor(file, options) {
      if (options?.name === 'siftd-http' && ++started === 4) throw new Error('a refused thread of a test')
      super(file, options)
    }
  }
  syncBuiltinESMExports()
}
