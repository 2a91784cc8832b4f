/** API console: sends any request of the OpenAPI document with the key of this tab. */
import { useState } from 'preact/hooks'
import { ask, headers } from '../api/client.ts'
import type { IndexInfo } from '../api/types.ts'
import { Problem, Scroll } from '../parts/basics.tsx'
import { indented, milliseconds } from '../parts/text.ts'
import { asFailure, useLoaded } from '../state/loading.ts'
import { type OpenApi, type Operation, operationsOf } from './operations.ts'

/** Characters of an answer that are shown. Longer answers slow the browser down. */
const SHOWN_CHARS_MAX = 200_000
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

interface Answer {
  readonly status: number
  readonly text: string
  readonly ms: number
}

export function ConsoleSection({ index }: { readonly index: IndexInfo | null }) {
  const document = useLoaded((signal) => ask<OpenApi>('GET', '/openapi.json', { signal }), [])
  const [method, setMethod] = useState('GET')
  const [path, setPath] = useState('/version')
  const [body, setBody] = useState('')
  const [answer, setAnswer] = useState<Answer | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [isSending, setIsSending] = useState(false)
  const operations = document.value === null ? [] : operationsOf(document.value)
  const choose = (operation: Operation | undefined): void => {
    if (operation === undefined) return
    setMethod(operation.method)
    setPath(operation.path.replace(/\{index_?uid\}/i, index === null ? '$&' : encodeURIComponent(index.uid)))
    setBody(operation.body)
  }
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setIsSending(true)
    setProblem(null)
    const start = performance.now()
    try {
      const init: RequestInit = { method, headers: headers(body === '' ? null : 'application/json') }
      if (body !== '' && method !== 'GET') init.body = body
      const response = await fetch(path, init)
      const text = await response.text()
      setAnswer({ status: response.status, text, ms: performance.now() - start })
    } catch (error) {
      setAnswer(null)
      setProblem(asFailure(error).message)
    }
    setIsSending(false)
  }
  const missing = /\{[^}]+\}/.exec(path)?.[0]
  return (
    <form class="stack" onSubmit={send}>
      <h1>API console</h1>
      <p class="soft">Sends requests to this server with the key of this tab. Writes change your data.</p>
      {document.failure !== null && <Problem failure={document.failure} />}
      <label class="field">
        Operation
        <select
          onChange={(event) => choose(operations[event.currentTarget.selectedIndex - 1])}
          disabled={operations.length === 0}
        >
          <option>Choose …</option>
          {operations.map((operation) => (
            <option key={`${operation.method} ${operation.path}`}>
              {operation.method} {operation.path}
              {operation.summary === '' ? '' : ` – ${operation.summary}`}
            </option>
          ))}
        </select>
      </label>
      <div class="request">
        <label class="field">
          Method
          <select value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
            {methods.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="field">
          Path with query
          <input
            required
            pattern="/.*"
            title="A path that begins with /"
            autocomplete="off"
            spellcheck={false}
            value={path}
            onInput={(event) => setPath(event.currentTarget.value)}
          />
        </label>
      </div>
      {method !== 'GET' && (
        <label class="field">
          Body
          <textarea
            rows={8}
            spellcheck={false}
            value={body}
            onInput={(event) => setBody(event.currentTarget.value)}
          />
        </label>
      )}
      <div class="row">
        <button type="submit" class="main" disabled={isSending || missing !== undefined}>
          Send
        </button>
        <span role="status" class="soft small num">
          {missing !== undefined && `Replace ${missing} in the path`}
          {missing === undefined && answer !== null && `${answer.status} in ${milliseconds(answer.ms)}`}
        </span>
      </div>
      {problem !== null && <Problem failure={{ code: 'no_answer', message: problem }} />}
      {answer !== null && <AnswerText text={answer.text} />}
    </form>
  )
}

function AnswerText({ text }: { readonly text: string }) {
  const cut = text.slice(0, SHOWN_CHARS_MAX)
  return (
    <div class="stack">
      <Scroll label="Answer">
        <pre class="code">{cut.startsWith('{') || cut.startsWith('[') ? indented(cut) : cut}</pre>
      </Scroll>
      {text.length > SHOWN_CHARS_MAX && (
        <p class="soft small">
          The first {SHOWN_CHARS_MAX} of {text.length} characters.
        </p>
      )}
    </div>
  )
}
