import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'

/** An event as it arrived. */
export interface CollectedEvent {
  readonly type: string
  readonly event?: string
  readonly userId: string
  readonly timestamp: string
  readonly context: { readonly app: { readonly version: string } }
  readonly traits?: Readonly<Record<string, unknown>>
  readonly properties?: Readonly<Record<string, unknown>>
}

export interface Collector {
  readonly url: string
  /** Bytes of each batch. */
  readonly bytes: readonly number[]
  readonly events: readonly CollectedEvent[]
  /** Resolves once an event of that name has arrived. */
  until(event: string): Promise<CollectedEvent>
}

/** A collector of telemetry. @param answer the status it answers with; `never`: it leaves its callers waiting */
export async function startCollector(
  t: Pick<ExecutionContext, 'teardown'>,
  answer: number | 'never' = 200,
): Promise<Collector> {
  const events: CollectedEvent[] = []
  const bytes: number[] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks)
      bytes.push(text.length)
      events.push(...(JSON.parse(text.toString()) as { readonly batch: readonly CollectedEvent[] }).batch)
      for (const look of waiting) look()
      if (answer !== 'never') response.writeHead(answer).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://key@127.0.0.1:${(server.address() as AddressInfo).port}/v1/batch`,
    bytes,
    events,
    until: (event) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = events.find((one) => one.event === event)
          if (found !== undefined) resolve(found)
        }
        waiting.add(look)
        look()
      }),
  }
}

/** Every name of a figure in an object, the parts of nested ones joined by dots. */
export function namesIn(object: unknown, start = ''): readonly string[] {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return [start]
  return Object.entries(object).flatMap(([name, value]) =>
    namesIn(value, start === '' ? name : `${start}.${name}`),
  )
}
