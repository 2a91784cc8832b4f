/** An answer as one object, for clients that do not stream. */
import type { Part } from './conversation.js'
import { badAnswer } from './failure.js'
import { ANSWER_CHARS_MAX } from './limits.js'

/** Collects the parts of an answer. Its message is what a client would collect from the stream. @throws ChatFailure */
export async function completed(parts: AsyncIterable<Part>): Promise<Readonly<Record<string, unknown>>> {
  let content = ''
  let refusal: string | null = null
  let reason: string = 'stop'
  let usage: unknown
  const head: Record<string, unknown> = {}
  const events: unknown[] = []
  let chars = 0
  for await (const part of parts) {
    if (part.kind !== 'chunk') continue
    const { id, created, model, choices = [], usage: counted } = part.value
    Object.assign(head, { id: head.id ?? id, created: head.created ?? created, model: head.model ?? model })
    const [choice] = choices
    if (choice === undefined) {
      usage = counted
      continue
    }
    const { delta, finish_reason: end } = choice
    if (typeof delta?.content === 'string') content += delta.content
    if (typeof delta?.refusal === 'string') refusal = (refusal ?? '') + delta.refusal
    for (const { index: _, ...call } of delta?.tool_calls ?? []) events.push(call)
    chars += part.text.length
    if (content.length > ANSWER_CHARS_MAX || chars > EVENTS_CHARS_MAX)
      throw badAnswer('answer_too_large', 'the answer is too long; stream it')
    if (end) reason = end
  }
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content,
          refusal,
          ...(events.length > 0 && { tool_calls: events }),
        },
        logprobs: null,
        finish_reason: reason,
      },
    ],
    usage,
  }
}

/** Characters of all chunks of an answer, with the documents of its searches. */
const EVENTS_CHARS_MAX = 16 * ANSWER_CHARS_MAX
