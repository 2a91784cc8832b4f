/** A scripted instance of Typesense. Source of paths and forms: the documentation of its HTTP API. */
import { createServer } from 'node:http'
import type { ExecutionContext } from 'ava'
import { listening } from './listening.js'

export const TYPESENSE_KEY = 'typesense-admin-key'

export interface FakeCollection {
  readonly schema: Readonly<Record<string, unknown>>
  readonly documents: readonly object[]
  readonly synonyms?: readonly object[]
  readonly overrides?: readonly object[]
}

/** @param others answers of other paths; all further paths are unknown, as in versions without them */
export async function startTypesense(
  t: ExecutionContext,
  collections: readonly FakeCollection[],
  others: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const schemas = collections.map(({ schema, documents }) => ({ num_documents: documents.length, ...schema }))
  const answers = new Map<string, string>(
    Object.entries(others).map(([path, answer]) => [path, JSON.stringify(answer)]),
  )
  for (const { schema, documents, synonyms, overrides } of collections) {
    const path = `/collections/${String(schema.name)}`
    answers.set(`${path}/documents/export`, documents.map((one) => JSON.stringify(one)).join('\n'))
    if (synonyms !== undefined) answers.set(`${path}/synonyms`, JSON.stringify({ synonyms }))
    if (overrides !== undefined) answers.set(`${path}/overrides`, JSON.stringify({ overrides }))
  }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (request.headers['x-typesense-api-key'] !== TYPESENSE_KEY) {
      response
        .writeHead(401)
        .end('{"message": "Forbidden - a valid `x-typesense-api-key` header must be sent."}')
      return
    }
    if (pathname === '/collections') {
      const [offset, limit] = [Number(searchParams.get('offset')), Number(searchParams.get('limit') ?? 100)]
      response.end(JSON.stringify(schemas.slice(offset, offset + limit)))
      return
    }
    const answer = answers.get(pathname)
    if (answer === undefined) response.writeHead(404).end('{"message": "Not Found"}')
    else response.end(answer)
  })
  return listening(t, server)
}
