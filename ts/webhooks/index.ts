/** A batch has finished, who wants to know, and have they been told? */
export type { LaunchWebhook, WebhookChange } from './book.js'
export { openWebhooks, type Webhooks, type WebhooksSetup } from './webhooks.js'
