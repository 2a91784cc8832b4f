/** Hooks of Node.js that write the address of every module that a process loads to the file SIFTD_TEST_LOADED. */
import { appendFileSync } from 'node:fs'
import type { LoadHook } from 'node:module'

export const load: LoadHook = (url, context, next) => {
  appendFileSync(process.env.SIFTD_TEST_LOADED ?? '', `${url}\n`)
  return next(url, context)
}
