import type { FastifyInstance } from 'fastify'

/**
 * Logs one INFO line per answered request, for operators, with the code of its error if it has one. The line never holds
 * the `Authorization` header or a body.
 */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const question = request.url.indexOf('?')
    request.log.info(
      {
        method: request.method,
        host: request.host,
        route: question === -1 ? request.url : request.url.slice(0, question),
        query_parameters: question === -1 ? '' : request.url.slice(question + 1),
        user_agent: request.headers['user-agent'] ?? '',
        status_code: reply.statusCode,
        ...(reply.errorCode !== null && { error: reply.errorCode }),
      },
      'HTTP request',
    )
  })
}
