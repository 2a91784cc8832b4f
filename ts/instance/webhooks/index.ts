/** Delivers finished batches to webhooks. */
export type { LaunchWebhook } from './book.js'
export { openWebhooks, type Webhooks } from './webhooks.js'
