import { openOutbound } from '../../outbound/index.js'
import { SEND_MS_MAX } from './limits.js'
import type { Deliver } from './reporter.js'

/** Posts batches to a collector. The operator chooses its address, so it may be in a private network. */
export function deliverTo(url: string): { readonly deliver: Deliver; close(): Promise<void> } {
  const outbound = openOutbound({ allowedNetworks: 'any' })
  return {
    async deliver(batch) {
      const headers = { 'content-type': 'application/json' }
      const call = { method: 'POST', url, headers, body: batch, timeoutMs: SEND_MS_MAX } as const
      const { status } = await outbound.call({ ...call, answerBytesMax: null })
      if (status >= 400) throw new Error(`the collector answered ${status}`)
    },
    close: () => outbound.close(),
  }
}
