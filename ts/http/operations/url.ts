import type { FastifyRequest } from 'fastify'

/** The query string as sent, without its `?`. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const mark = url.indexOf('?')
  return mark === -1 ? '' : url.slice(mark + 1)
}

/** A path parameter, percent-decoded. */
export function param(request: FastifyRequest, name: string): string {
  return (request.params as Readonly<Record<string, string>>)[name] ?? ''
}
