/** Runs the engine on a worker thread and answers the messages of `EngineWorker`. */
import { parentPort, workerData } from 'node:worker_threads'
import { endThread } from '../../end-thread.js'
import { EngineError } from '../../engine-error.js'
import { CopyEngine } from '../copy-engine.js'
import { type FallbackOptions, LocalEngine } from '../engine.js'
import { StoppedError } from '../indexing/pacer.js'
import type { AnswerMessage, CallMessage, FaultMessage } from './protocol.js'
import { StopFlag } from './stop-flag.js'

if (parentPort === null) throw new Error('the fallback engine runs in a worker thread')
const port = parentPort
const options = workerData as FallbackOptions
const opening: Promise<LocalEngine> = (options.isCopy === true ? CopyEngine : LocalEngine).open(
  options,
  (fault) => port.postMessage({ fault } satisfies FaultMessage),
)

/** Shared memory is always the stop flag of a search or a batch. */
const received = (value: unknown): unknown =>
  value instanceof SharedArrayBuffer ? new StopFlag(value) : value

async function answer({ id, call, args }: CallMessage): Promise<AnswerMessage> {
  try {
    const engine = await opening
    // The methods have typed arguments; a message has none. Only copies are sent the calls of `CopyEngine`.
    const method = (engine as CopyEngine)[call] as (...args: readonly unknown[]) => Promise<unknown>
    return { id, ok: true, value: await method.apply(engine, args.map(received)) }
  } catch (error) {
    const known = error instanceof EngineError
    return {
      id,
      ok: false,
      code: known ? error.code : null,
      message: error instanceof Error ? error.message : String(error),
      stack: error instanceof Error && !(error instanceof StoppedError) ? (error.stack ?? '') : '',
    }
  }
}

port.on('message', (message: CallMessage) => {
  void answer(message).then((reply) => {
    // Copied, not transferred: V8 reads typed arrays at half the speed in a thread that has ever transferred memory.
    port.postMessage(reply)
    if (message.call === 'close') endThread(port)
  })
})
