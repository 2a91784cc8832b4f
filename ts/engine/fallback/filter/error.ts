/** Errors in filters, with their positions. */
import type { ErrorCode } from '../../../errors/index.js'
import { FILTER_SHOWN_CHARS_MAX } from '../limits.js'
import type { Span } from './tree.js'

/** An invalid filter; the message says why and where. */
export class FilterError extends Error {
  /** The field is filterable, but this operator is disabled for it. */
  readonly disabledOperator: boolean
  /** It uses an experimental feature that is disabled. */
  readonly missingFeature: boolean

  constructor(reason: string, at?: Span, why: 'syntax' | 'disabledOperator' | 'missingFeature' = 'syntax') {
    super(at === undefined ? reason : `${reason}\n${position(at)}`)
    this.disabledOperator = why === 'disabledOperator'
    this.missingFeature = why === 'missingFeature'
  }

  /** @param invalid code for filter errors of this request */
  code(invalid: ErrorCode): ErrorCode {
    if (this.missingFeature) return 'feature_not_enabled'
    return this.disabledOperator ? 'invalid_search_filter' : invalid
  }
}

/** Maximum characters of the offending part in a message. */
const FOUND_CHARS_MAX = 80

/** Quotes the unexpected part of a filter for a message. */
export function foundIn({ text, start, end }: Span): string {
  if (start === end) return 'the end of the filter'
  const found = Array.from(text.slice(start, Math.min(end, start + 2 * FOUND_CHARS_MAX + 2)))
  return found.length > FOUND_CHARS_MAX
    ? `\`${found.slice(0, FOUND_CHARS_MAX).join('')}…\``
    : `\`${found.join('')}\``
}

/** Character span, from 1, and the complete expression, as at the end of the API's messages. */
function position({ text, start, end }: Span): string {
  const characters = (upTo: number): number => {
    let count = 0
    for (let at = 0; at < upTo; at += text.codePointAt(at)! > 0xffff ? 2 : 1) count++
    return count
  }
  return `${characters(start) + 1}:${characters(end) + 1} ${excerpt(text)}`
}

/** Truncates long texts, so that a message is not as long as its request. */
export function excerpt(text: string): string {
  if (text.length <= FILTER_SHOWN_CHARS_MAX) return text
  const shown = Array.from(text.slice(0, 2 * FILTER_SHOWN_CHARS_MAX))
  return shown.length <= FILTER_SHOWN_CHARS_MAX ? text : `${shown.slice(0, FILTER_SHOWN_CHARS_MAX).join('')}…`
}
