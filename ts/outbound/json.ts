import { setImmediate as turn } from 'node:timers/promises'
import { type JsonLimits, type JsonNode, readJsonInSlices } from '../parse/index.js'
import { SHORT_ANSWER_BYTES_MAX } from './limits.js'

/**
 * The JSON of an answer. Other work goes on between slices of a long one.
 * @throws ApiError `payload_too_large` for more values than `limits` allow, `malformed_payload` for what is not JSON
 * or is nested too deeply, `missing_payload` for nothing
 */
export function readAnswer(body: Uint8Array, limits: JsonLimits): Promise<JsonNode> {
  const isShort = body.length <= SHORT_ANSWER_BYTES_MAX
  return readJsonInSlices(body, limits, async () => {
    if (!isShort) await turn()
  })
}
