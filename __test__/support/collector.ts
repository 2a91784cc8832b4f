import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'

/** A received event. */
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
  /** Size of each batch. */
  readonly bytes: readonly number[]
  readonly events: readonly CollectedEvent[]
  /** Resolves when an event with this name has arrived. */
  until(event: string): Promise<CollectedEvent>
}

/** Starts a telemetry collector. @param answer status of its answers; `never`: it never answers */
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

/** Returns the path of every leaf of an object, joined by dots. */
export function namesIn(object: unknown, start = ''): readonly string[] {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return [start]
  return Object.entries(object).flatMap(([name, value]) =>
    namesIn(value, start === '' ? name : `${start}.${name}`),
  )
}
