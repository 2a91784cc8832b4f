/** Entry point of the rendering thread; see `render-thread.ts`. */
import { parentPort } from 'node:worker_threads'
import { type RenderAnswer, type RenderCall, rendered } from './render-calls.js'
import { TemplateError } from './templates.js'

if (parentPort === null) throw new Error('this file runs in a worker thread')
const port = parentPort

async function answer(call: RenderCall): Promise<RenderAnswer> {
  try {
    return { value: await rendered(call) }
  } catch (error) {
    if (error instanceof TemplateError) return { failure: { when: error.when, reason: error.message } }
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

port.on('message', (call: RenderCall) => void answer(call).then((reply) => port.postMessage(reply)))
