/** What a webhook is made of. Secrets are kept as they are. */
export interface WebhookBody {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** A webhook with its name. */
export interface StoredWebhook extends WebhookBody {
  /** UUIDv4, lower case. */
  readonly uuid: string
}
