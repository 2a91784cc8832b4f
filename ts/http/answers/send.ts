import type { FastifyReply } from 'fastify'

/** Answers with JSON. */
export function sendJson(reply: FastifyReply, value: unknown, status = 200): FastifyReply {
  return sendJsonBytes(reply, JSON.stringify(value), status)
}

/** Answers with JSON that is already text or bytes. */
export function sendJsonBytes(reply: FastifyReply, body: string | Uint8Array, status = 200): FastifyReply {
  // fastify adds a charset to the content type of text, but not to that of bytes. JSON has no charset.
  const payload =
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return reply.code(status).type('application/json').send(payload)
}
