/** Entry point of the settings thread, started by `thread.ts`. */
import { parentPort } from 'node:worker_threads'
import { ApiError } from '../errors/index.js'
import { type AnswerMessage, type CallMessage, runCall } from './thread-calls.js'

if (parentPort === null) throw new Error('this file runs in a worker thread')
const port = parentPort

function answer(message: CallMessage): AnswerMessage {
  const { id } = message
  try {
    return { id, value: runCall(message) }
  } catch (error) {
    if (error instanceof ApiError) return { id, refusal: [error.code, error.message, error.status] }
    return { id, fault: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

port.on('message', (message: CallMessage) => port.postMessage(answer(message)))
