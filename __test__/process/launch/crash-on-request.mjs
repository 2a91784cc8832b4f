/** Loaded before the program: a request with the header `x-crash` ends the thread that receives it. */
import { subscribe } from 'node:diagnostics_channel'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread)
  subscribe('http.server.request.start', ({ request }) => {
    if (request.headers['x-crash'] === undefined) return
    setImmediate(() => {
      throw new Error('a crash of a test')
    })
  })
