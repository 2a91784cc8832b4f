/** Shortens a text that a model of OpenAI refused, by counting its tokens. */
import { setImmediate as turn } from 'node:timers/promises'
import { OPENAI_TOKENS_MAX, RENDERING_TURN_MS, TOKENIZED_RUN_MAX } from './limits.js'

/** The vocabulary cl100k_base takes 30 MB of memory, so it is loaded only when the first text is refused. */
const loadVocabulary = () => import('gpt-tokenizer/encoding/cl100k_base')

/**
 * Returns the first tokens of a text, as many as a model accepts; the text itself if it has no more. Pauses regularly,
 * so that the event loop can serve requests.
 */
export async function fittingTokens(text: string): Promise<string | readonly number[]> {
  // A token is at least one byte, and UTF-16 text has at most three bytes per unit.
  if (3 * text.length <= OPENAI_TOKENS_MAX) return text
  const { encodeGenerator } = await loadVocabulary()
  const tokens: number[] = []
  let since = performance.now()
  for (const part of partsOf(text)) {
    // Treats names of control tokens in a text as ordinary words.
    for (const word of encodeGenerator(part, { disallowedSpecial: new Set() })) {
      tokens.push(...word)
      if (tokens.length > OPENAI_TOKENS_MAX) return tokens.slice(0, OPENAI_TOKENS_MAX)
      if (performance.now() - since < RENDERING_TURN_MS) continue
      await turn()
      since = performance.now()
    }
  }
  return text
}

/**
 * Splits a text inside runs of spaces, or of other characters, that are longer than words. Tokenising a run takes time
 * quadratic in its length.
 */
function* partsOf(text: string): Generator<string> {
  let [from, run] = [0, 0]
  let wasSpace = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const isSpace = unit <= 32
    run = isSpace === wasSpace ? run + 1 : 1
    wasSpace = isSpace
    const isHalf = unit >= 0xd800 && unit <= 0xdbff
    if (run < TOKENIZED_RUN_MAX || isHalf) continue
    yield text.slice(from, at + 1)
    from = at + 1
    run = 0
  }
  yield text.slice(from)
}
