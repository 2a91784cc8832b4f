/** The header `traceparent`, by the W3C recommendation Trace Context. */

/** The caller's span. */
export interface RemoteParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Returns null for a header that is missing or malformed, which must then be ignored. */
export function readTraceparent(header: unknown): RemoteParent | null {
  if (typeof header !== 'string') return null
  const [, version, traceId = '', spanId = '', flags = '', rest] = PATTERN.exec(header) ?? []
  // Later versions may have more fields; `ff` is invalid.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const traceparentOf = ({ traceId, spanId, isSampled }: RemoteParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
