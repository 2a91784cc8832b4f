import { setImmediate as turn } from 'node:timers/promises'
import { type JsonLimits, type JsonNode, readJsonInSlices } from '../parse/index.js'
import { SHORT_ANSWER_BYTES_MAX } from './limits.js'

/**
 * Parses the JSON of an answer. Parses a long answer in slices, with a turn of the event loop between them.
 * @param holdValues called before each slice of a long answer with the number of values read since the last call; may
 * throw to refuse the rest
 * @throws ApiError `payload_too_large` for more values than `limits` allow, `malformed_payload` for bytes that are not
 * JSON or nested too deeply, `missing_payload` for an empty answer
 */
export function readAnswer(
  body: Uint8Array,
  limits: JsonLimits,
  holdValues?: (valuesRead: number) => void,
): Promise<JsonNode> {
  const isShort = body.length <= SHORT_ANSWER_BYTES_MAX
  return readJsonInSlices(body, limits, async (valuesRead) => {
    if (isShort) return
    holdValues?.(valuesRead)
    await turn()
  })
}
