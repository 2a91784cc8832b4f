/** Moves stage times from search answers to their facts. */
import type { Answer } from './engine.js'

/** Start of the member. Inside a JSON string its quotes would be escaped. */
const MEMBER = Buffer.from(',"performanceDetails":{')

/**
 * Moves the stage times of an answer to its facts.
 * @param answer of a search with `showPerformanceDetails`; it is modified
 * @param isShown true if the client requested them, so that they stay in the answer too
 */
export function withStages(answer: Answer, isShown: boolean): Answer {
  const { body, facts } = answer
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  // Search from the end: documents come first and may have the same member.
  const at = bytes.lastIndexOf(MEMBER)
  if (at === -1) return answer
  const end = bytes.indexOf('}', at) + 1
  const stages = bytes.toString('utf8', at + MEMBER.length - 1, end)
  if (!isShown) bytes.copyWithin(at, end)
  const remaining = isShown ? body : bytes.subarray(0, bytes.length - (end - at))
  return { ...answer, body: remaining, facts: { ...facts, stages } }
}
