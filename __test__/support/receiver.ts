import { createServer, type IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { ExecutionContext } from 'ava'
import { listening } from './listening.js'

/** A call that a webhook received. */
export interface Receipt {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Alternating names and values, as received. */
  readonly rawHeaders: readonly string[]
  /** Parsed lines of the body. */
  readonly tasks: readonly (Readonly<Record<string, unknown>> & { readonly uid: number })[]
}

export interface Receiver {
  readonly url: string
  readonly receipts: readonly Receipt[]
  /** Returns the uids of all tasks in successful calls. */
  uids(): readonly number[]
  /** Resolves when the condition holds. */
  until(holds: () => boolean): Promise<void>
}

/** Starts a webhook receiver. @param status status of the answer to each call, numbered from 0 */
export async function startReceiver(
  t: ExecutionContext,
  status: (call: number, receipt: Receipt) => number | Promise<number> = () => 200,
): Promise<Receiver> {
  const receipts: Receipt[] = []
  const accepted: number[] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const lines = gunzipSync(Buffer.concat(chunks)).toString().split('\n')
      if (lines.pop() !== '') throw new Error('the last line does not end with a newline')
      const tasks = lines.map((line) => JSON.parse(line) as Receipt['tasks'][number])
      const receipt = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        tasks,
      }
      const answer = await status(receipts.push(receipt) - 1, receipt)
      if (answer < 400) accepted.push(...tasks.map(({ uid }) => uid))
      response.writeHead(answer).end('ignored')
      for (const check of waiting) check()
    })
  })
  const url = await listening(t, server)
  return {
    url,
    receipts,
    uids: () => accepted,
    until: (holds) =>
      new Promise((resolve) => {
        const check = () => {
          if (!holds()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
  }
}
