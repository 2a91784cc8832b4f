import type { ExecutionContext } from 'ava'
import type { TestAnswer, TestRequest, TestServer } from './server.js'

/** A request that must be refused, and the expected error code. */
export interface Refusal extends TestRequest {
  readonly method?: string
  readonly path: string
  readonly code: string
  /** Default: 400. */
  readonly status?: number
  /** Text that the message must contain. */
  readonly names?: string
}

/** Sends every request of `cases` and checks the error: status, code, and its four keys. */
export async function checkRefusals(
  t: ExecutionContext,
  server: TestServer,
  cases: readonly Refusal[],
): Promise<void> {
  for (const { method = 'POST', path, code, status = 400, names, ...request } of cases) {
    const answer = await server.request(method, path, request)
    const what = `${method} ${path} ${JSON.stringify(request.body) ?? ''}`
    checkError(t, answer, status, code, what)
    if (names !== undefined) t.true(answer.body.message.includes(names), `${what}: ${answer.body.message}`)
  }
}

/** Asserts that `answer` is the error `code`. */
export function checkError(
  t: ExecutionContext,
  answer: TestAnswer,
  status: number,
  code: string,
  what = code,
): void {
  t.is(answer.body.code, code, `${what}: ${answer.bytes.toString()}`)
  t.is(answer.status, status, what)
  t.deepEqual(Object.keys(answer.body), ['message', 'code', 'type', 'link'], what)
  t.true(answer.body.link.endsWith(`#${code}`), what)
}
