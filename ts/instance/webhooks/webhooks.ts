import type { StoredWebhook } from '../../tasks/index.js'
import { type LaunchWebhook, WebhookBook, type WebhookChange } from './book.js'
import { Delivery, type DeliveryParts } from './delivery.js'

/** The webhooks and their deliveries. Errors are those of `WebhookBook`. */
export interface Webhooks {
  all(): readonly StoredWebhook[]
  get(uuid: string): StoredWebhook | null
  create(change: WebhookChange & { readonly url: string }): Promise<StoredWebhook>
  update(uuid: string, change: WebhookChange): Promise<StoredWebhook>
  remove(uuid: string): Promise<void>
  /** Aborts running calls. Their batches are delivered again after the next start. */
  close(): Promise<void>
}

/** Opens the webhooks and starts to deliver missed batches. */
export async function openWebhooks({
  launch,
  ...parts
}: DeliveryParts & { readonly launch: LaunchWebhook | null }): Promise<Webhooks> {
  const book = await WebhookBook.open(parts.store, launch)
  const deliveries = new Map(book.all().map((webhook) => [webhook.uuid, new Delivery(webhook, parts)]))
  const stopListening = parts.store.onBatch(() => {
    for (const delivery of deliveries.values()) delivery.wake()
  })
  return {
    all: () => book.all(),
    get: (uuid) => book.get(uuid),
    async create(change) {
      const webhook = await book.create(change)
      deliveries.set(webhook.uuid, new Delivery(webhook, parts))
      return webhook
    },
    async update(uuid, change) {
      const webhook = await book.update(uuid, change)
      deliveries.get(uuid)?.change(webhook)
      return webhook
    },
    async remove(uuid) {
      await book.remove(uuid)
      const delivery = deliveries.get(uuid)
      deliveries.delete(uuid)
      await delivery?.close()
    },
    async close() {
      stopListening()
      await Promise.all([...deliveries.values()].map((delivery) => delivery.close()))
    },
  }
}
