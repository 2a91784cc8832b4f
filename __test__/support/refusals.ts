import type { ExecutionContext } from 'ava'
import type { TestAnswer, TestRequest, TestServer } from './server.js'

/** A request that must be refused, and the code of the refusal. */
export interface Refusal extends TestRequest {
  readonly method?: string
  readonly path: string
  readonly code: string
  /** 400 unless said otherwise. */
  readonly status?: number
  /** What the message must name. */
  readonly names?: string
}

/** Sends every request of `cases` and checks the refusal: status, code, the four keys of an error. */
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

/** Checks that `answer` is the error `code`. */
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
