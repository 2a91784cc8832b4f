/** Here is an answer to a search with the times of its stages, which its client may not have asked for. */
import type { Answer } from './engine.js'

/** The beginning of the member. Inside a text of JSON its quotes would be escaped. */
const MEMBER = Buffer.from(',"performanceDetails":{')

/**
 * Moves the times of the stages from an answer to its facts.
 * @param answer of a search with `showPerformanceDetails`; it changes
 * @param isShown whether the client asked for them, so that they stay in the answer too
 */
export function withStages(answer: Answer, isShown: boolean): Answer {
  const { body, facts } = answer
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  // Documents come before it and may have such a member as well.
  const at = bytes.lastIndexOf(MEMBER)
  if (at === -1) return answer
  const end = bytes.indexOf('}', at) + 1
  const stages = bytes.toString('utf8', at + MEMBER.length - 1, end)
  if (!isShown) bytes.copyWithin(at, end)
  const left = isShown ? body : bytes.subarray(0, bytes.length - (end - at))
  return { ...answer, body: left, facts: { ...facts, stages } }
}
