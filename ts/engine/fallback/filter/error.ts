/** Here is a filter that cannot be used: why, and where in it? */
import type { ErrorCode } from '../../../errors/index.js'
import { FILTER_SHOWN_CHARS_MAX } from '../limits.js'
import type { Span } from './tree.js'

/** A filter that cannot be used; the message says why and where. */
export class FilterError extends Error {
  /** The field is filterable but this operator is switched off for it. */
  readonly disabledOperator: boolean
  /** It uses an experiment that is switched off. */
  readonly missingFeature: boolean

  constructor(reason: string, at?: Span, why: 'syntax' | 'disabledOperator' | 'missingFeature' = 'syntax') {
    super(at === undefined ? reason : `${reason}\n${position(at)}`)
    this.disabledOperator = why === 'disabledOperator'
    this.missingFeature = why === 'missingFeature'
  }

  /** @param invalid the code of the request's own filter errors */
  code(invalid: ErrorCode): ErrorCode {
    if (this.missingFeature) return 'feature_not_enabled'
    return this.disabledOperator ? 'invalid_search_filter' : invalid
  }
}

/** Characters of the offending part that a message repeats. */
const FOUND_CHARS_MAX = 80

/** The part of a filter that is not what was expected, for a message. */
export function foundIn({ text, start, end }: Span): string {
  if (start === end) return 'the end of the filter'
  const found = Array.from(text.slice(start, Math.min(end, start + 2 * FOUND_CHARS_MAX + 2)))
  return found.length > FOUND_CHARS_MAX
    ? `\`${found.slice(0, FOUND_CHARS_MAX).join('')}…\``
    : `\`${found.join('')}\``
}

/** Character span from 1 and the whole expression, as the API's messages end. */
function position({ text, start, end }: Span): string {
  const characters = (upTo: number): number => {
    let count = 0
    for (let at = 0; at < upTo; at += text.codePointAt(at)! > 0xffff ? 2 : 1) count++
    return count
  }
  return `${characters(start) + 1}:${characters(end) + 1} ${excerpt(text)}`
}

/** Long texts are cut, so that a message is not as long as its request. */
export function excerpt(text: string): string {
  if (text.length <= FILTER_SHOWN_CHARS_MAX) return text
  const shown = Array.from(text.slice(0, 2 * FILTER_SHOWN_CHARS_MAX))
  return shown.length <= FILTER_SHOWN_CHARS_MAX ? text : `${shown.slice(0, FILTER_SHOWN_CHARS_MAX).join('')}…`
}
