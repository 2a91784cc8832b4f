/** A webhook without its uuid. Headers may contain secrets, which are stored in plain text. */
export interface WebhookBody {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** A webhook with its uuid. */
export interface StoredWebhook extends WebhookBody {
  /** UUIDv4, lower case. */
  readonly uuid: string
}
