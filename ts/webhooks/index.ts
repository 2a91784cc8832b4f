/** Here is a finished batch: which webhooks are called for it, and which have been called already? */
export type { LaunchWebhook, WebhookChange } from './book.js'
export { openWebhooks, type Webhooks, type WebhooksSetup } from './webhooks.js'
