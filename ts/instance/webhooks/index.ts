/** Delivers finished batches to webhooks. */
export type { LaunchWebhook, WebhookChange } from './book.js'
export { openWebhooks, type Webhooks, type WebhooksSetup } from './webhooks.js'
