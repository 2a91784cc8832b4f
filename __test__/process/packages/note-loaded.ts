/** Node.js hooks that write the URL of every loaded module to the file SIFTD_TEST_LOADED. */
import { appendFileSync } from 'node:fs'
import type { LoadHook } from 'node:module'

export const load: LoadHook = (url, context, next) => {
  appendFileSync(process.env.SIFTD_TEST_LOADED ?? '', `${url}\n`)
  return next(url, context)
}
