import type { ExecutionContext } from 'ava'
import { codes } from '../../ts/errors/index.js'
import { checkError } from './refusals.js'
import type { TestBody, TestServer } from './server.js'

/** Expected result of a request. */
export type Expected =
  /** Refused with this code and its status. */
  | { readonly refused: string }
  /** Accepted, and the task succeeds, with these details if given. */
  | { readonly succeeds: true | object }
  /** Accepted, and the task fails with this code, with these details if given. */
  | { readonly fails: string; readonly details?: object }
  /** Answered with status 200 and exactly this body. */
  | { readonly is: unknown }
  /** Answered with status 200 and a body that contains this. */
  | { readonly holds: object }
  /** Answered with status 200 and these ids as `hits` or `results`, in order. */
  | { readonly ids: readonly unknown[] }
  /** Answered with this status. The body is not checked. */
  | { readonly status: number }

/** `METHOD /path`, body (text is sent unchanged), expected result, headers other than those for JSON. */
export type Step = readonly [
  request: string,
  body: unknown,
  expected: Expected,
  headers?: Readonly<Record<string, string>>,
]

/** Sends requests in order and checks each. */
export async function runSteps(
  t: ExecutionContext,
  server: TestServer,
  steps: readonly Step[],
): Promise<void> {
  for (const [request, body, expected, headers] of steps) {
    const [method = '', path = ''] = request.split(' ')
    const what = `${request} ${JSON.stringify(body)?.slice(0, 120) ?? ''}`
    const sent = server.request(method, path, { body, ...(headers && { headers }) })
    if ('succeeds' in expected || 'fails' in expected) {
      const task = await server.settle(t, sent)
      const code = 'fails' in expected ? expected.fails : undefined
      t.deepEqual(
        [task.status, task.error?.code],
        [code ? 'failed' : 'succeeded', code],
        `${what}: ${JSON.stringify(task)}`,
      )
      const details = 'fails' in expected ? expected.details : expected.succeeds
      if (typeof details === 'object') t.deepEqual(task.details as unknown, details, what)
      continue
    }
    const answer = await sent
    const shown = (): unknown => JSON.parse(answer.bytes.toString())
    if ('refused' in expected) {
      const { status } = codes[expected.refused as keyof typeof codes]
      checkError(t, answer, status, expected.refused, what)
      continue
    }
    if ('status' in expected) {
      t.is(answer.status, expected.status, what)
      continue
    }
    t.is(answer.status, 200, `${what}: ${answer.bytes}`)
    if ('is' in expected) t.deepEqual(shown(), expected.is, what)
    else if ('holds' in expected) t.like(shown(), expected.holds as never, `${what}: ${answer.bytes}`)
    else {
      const { hits, results } = answer.body as Partial<TestBody>
      const ids = (hits ?? results)?.map((document) => document.id)
      t.deepEqual(ids, [...expected.ids], `${what}: ${answer.bytes}`)
    }
  }
}
