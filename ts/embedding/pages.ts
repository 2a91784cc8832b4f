/** Embeds the documents of a batch, page by page. */
import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '../errors/index.js'
import { waitOnTimer } from '../outbound/index.js'
import { dimensionsOf, indexingFields } from '../settings/index.js'
import { type EmbedderView, type Slot, type Subject, slotsOf } from './inputs.js'
import { RENDERING_TURN_MS } from './limits.js'
import type { CallSetup, EmbedOptions, FailureModes } from './providers/calls.js'
import { providerOf } from './providers/providers.js'
import { RequestWindow } from './providers/request-window.js'
import { BatchRequests } from './providers/requests.js'
import type { SpooledVectors } from './vector-spool.js'

/** Documents of one embedder. */
export interface DocumentsPage {
  readonly subjects: readonly Subject[]
  readonly after: EmbedderView
  readonly before: EmbedderView
}

/** The vectors of a document. */
interface EmbeddedDocument {
  readonly slots: readonly Slot[]
  /** A vector for each slot with an `input`, in order. */
  readonly vectors: readonly Float32Array[]
}

/** A result for each subject; null for a document whose vectors do not change. */
export type EmbeddedPage = readonly (EmbeddedDocument | null)[]

export interface DocumentsOptions extends EmbedOptions {
  readonly spooled: SpooledVectors
}

/**
 * Implements `Embedders.documents`. While requests of one page are running, fetches and renders the next pages, as many
 * as keep the window of requests full.
 */
export async function* embeddedPages(
  setup: CallSetup,
  pages: AsyncIterable<DocumentsPage>,
  options: DocumentsOptions,
): AsyncGenerator<EmbeddedPage> {
  const window = new RequestWindow(setup.wait ?? waitOnTimer, setup.pauseMsMax, options.signal)
  const { failureModes } = setup
  const requests = new BatchRequests(setup, window, options)
  const source = pages[Symbol.asyncIterator]()
  const made: Promise<EmbeddedPage>[] = []
  let isLast = false
  try {
    for (;;) {
      while (!isLast && !window.isFull) {
        const next = await source.next()
        isLast = next.done === true
        if (next.done === true) break
        const slots = await rendered(next.value, failureModes)
        const page = embedded(next.value, slots)
        // The failure is handled in the loop below, when it reaches this page.
        page.catch(() => undefined)
        made.push(page)
      }
      const [first] = made
      if (first === undefined) return
      const isMade = first.then(() => true)
      if (!(isLast ? await isMade : await Promise.race([isMade, window.vacancy().then(() => false)])))
        continue
      yield await first
      made.shift()
    }
  } catch (error) {
    throw window.failure(error)
  } finally {
    window.stop()
  }

  async function embedded(
    { after }: DocumentsPage,
    slots: readonly (readonly Slot[] | null)[],
  ): Promise<EmbeddedPage> {
    const inputs = slots.map((some) => (some ?? []).filter(({ input }) => input !== undefined))
    const provider = providerOf(indexingFields(after.fields), setup.defaults)
    const vectors = await requests.vectors(provider, inputs.flat(), dimensionsOf(after.fields))
    let next = 0
    return slots.map((some) => {
      if (some === null) return null
      // Leaves out slots whose failure is ignored.
      const filled = some.flatMap((slot) => {
        const vector = slot.input === undefined ? undefined : vectors[next++]
        return vector === null ? [] : [{ slot, vector }]
      })
      return {
        slots: filled.map(({ slot }) => slot),
        vectors: filled.flatMap(({ vector }) => (vector === undefined ? [] : [vector])),
      }
    })
  }
}

/** Renders the templates of documents. Pauses regularly, so that the event loop can serve requests. */
async function rendered(
  { subjects, after, before }: DocumentsPage,
  { ignoreTemplates }: FailureModes,
): Promise<readonly (readonly Slot[] | null)[]> {
  const slots: (readonly Slot[] | null)[] = []
  let since = performance.now()
  for (const subject of subjects) {
    try {
      slots.push(await slotsOf(subject, after, before))
    } catch (error) {
      if (!ignoreTemplates || !(error instanceof ApiError)) throw error
      slots.push([])
    }
    if (performance.now() - since < RENDERING_TURN_MS) continue
    await turn()
    since = performance.now()
  }
  return slots
}
