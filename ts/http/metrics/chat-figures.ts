import { Counter, type Registry } from 'prom-client'
import type { Usage } from '../../chats/index.js'
import { CHAT_SERIES_MAX } from '../limits.js'

/** Counts the searches of chats, and the tokens that providers report. */
export interface ChatFigures {
  countSearch(): void
  countTokens(workspace: string, model: string, usage: Usage): void
}

export function chatFigures(registry: Registry): ChatFigures {
  const searches = new Counter({
    name: 'meilisearch_chat_searches_total',
    help: 'searches of chats',
    labelNames: ['type'],
    registers: [registry],
  })
  const counter = (kind: string, help: string) =>
    new Counter({
      name: `meilisearch_chat_${kind}_total`,
      help,
      labelNames: ['workspace', 'model'],
      registers: [registry],
    })
  const prompt = counter('prompt_tokens', 'tokens that chats sent to providers')
  const completion = counter('completion_tokens', 'tokens that providers answered to chats')
  const total = counter('tokens', 'tokens of chats, sent and answered')
  const known = new Set<string>()
  return {
    countSearch: () => searches.inc({ type: 'internal' }),
    countTokens(workspace, model, usage) {
      // Some providers accept any name of a model.
      const key = JSON.stringify([workspace, model])
      if (known.size < CHAT_SERIES_MAX) known.add(key)
      const labels = known.has(key) ? { workspace, model } : { workspace: 'other', model: 'other' }
      prompt.inc(labels, usage.prompt_tokens)
      completion.inc(labels, usage.completion_tokens)
      total.inc(labels, usage.total_tokens)
    },
  }
}
