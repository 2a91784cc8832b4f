import { randomUUID } from 'node:crypto'
import { ApiError } from '../../errors/index.js'
import { maskUserInfo } from '../../settings/index.js'
import { LAUNCH_WEBHOOK, type StoredWebhook, type WebhookBody, type WebhookStore } from '../../tasks/index.js'
import { HEADERS_MAX, WEBHOOKS_MAX } from './limits.js'

/** A change of a webhook. undefined keeps a member, null removes it. */
export interface WebhookChange {
  readonly url: string | undefined
  readonly headers: ReadonlyMap<string, string | null> | null | undefined
}

/** The webhook from the launch options. */
export interface LaunchWebhook {
  readonly url: string
  /** The value of the header `Authorization`; null: no such header. */
  readonly authorization: string | null
}

/** All webhooks, in memory and written through to the store. */
export class WebhookBook {
  readonly #store: WebhookStore
  readonly #launch: StoredWebhook | null
  readonly #known: Map<string, StoredWebhook>
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(store: WebhookStore, launch: StoredWebhook | null, known: readonly StoredWebhook[]) {
    this.#store = store
    this.#launch = launch
    this.#known = new Map(known.map((webhook) => [webhook.uuid, webhook]))
  }

  static async open(store: WebhookStore, launch: LaunchWebhook | null): Promise<WebhookBook> {
    await store.launch(launch !== null)
    const stored = launch === null ? null : { uuid: LAUNCH_WEBHOOK, ...launchBody(launch) }
    const book = new WebhookBook(store, stored, await store.all())
    store.onReplaced(async () => {
      const found = await store.all()
      book.#known.clear()
      for (const webhook of found) book.#known.set(webhook.uuid, webhook)
    })
    return book
  }

  /** All webhooks, ascending by uuid, including that of the launch options. */
  all(): readonly StoredWebhook[] {
    const launch = this.#launch === null ? [] : [this.#launch]
    return [...launch, ...this.#known.values()].sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
  }

  get(uuid: string): StoredWebhook | null {
    return this.#launch?.uuid === uuid ? this.#launch : (this.#known.get(uuid) ?? null)
  }

  /** @throws ApiError `invalid_webhooks` if there are too many, `invalid_webhook_headers` */
  create({ url, headers }: WebhookChange & { readonly url: string }): Promise<StoredWebhook> {
    return this.#inTurn(() => this.#put({ uuid: randomUUID(), url, headers: merged({}, headers) }))
  }

  /** @throws ApiError `webhook_not_found`, `immutable_webhook`, `invalid_webhook_headers` */
  update(uuid: string, { url, headers }: WebhookChange): Promise<StoredWebhook> {
    return this.#inTurn(() => {
      const known = this.#editable(uuid)
      // A client may send back what an answer showed.
      const isKept = url === undefined || url === maskUserInfo(known.url)
      return this.#put({ uuid, url: isKept ? known.url : url, headers: merged(known.headers, headers) })
    })
  }

  /** @throws ApiError `webhook_not_found`, `immutable_webhook` */
  remove(uuid: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#editable(uuid)
      await this.#store.delete(uuid)
      this.#known.delete(uuid)
    })
  }

  async #put(webhook: StoredWebhook): Promise<StoredWebhook> {
    if (!(await this.#store.put(webhook, WEBHOOKS_MAX))) {
      const message = `the limit of ${WEBHOOKS_MAX} webhooks is reached`
      throw new ApiError('invalid_webhooks', message)
    }
    this.#known.set(webhook.uuid, webhook)
    return webhook
  }

  #editable(uuid: string): StoredWebhook {
    if (uuid === LAUNCH_WEBHOOK) {
      const message = `the webhook \`${uuid}\` was set at launch and cannot be changed`
      throw new ApiError('immutable_webhook', message)
    }
    const known = this.#known.get(uuid)
    if (known === undefined) throw new ApiError('webhook_not_found', `there is no webhook \`${uuid}\``)
    return known
  }

  /** Runs changes one at a time, so that each builds on the one before it. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(change)
    this.#turn = done.catch(() => undefined)
    return done
  }
}

function launchBody({ url, authorization }: LaunchWebhook): WebhookBody {
  return { url, headers: authorization === null ? {} : { Authorization: authorization } }
}

function merged(known: WebhookBody['headers'], change: WebhookChange['headers']): WebhookBody['headers'] {
  const headers = new Map(change === null ? [] : Object.entries(known))
  for (const [name, value] of change ?? []) {
    if (value === null) headers.delete(name)
    else headers.set(name, value)
  }
  if (headers.size > HEADERS_MAX) {
    const message = `a webhook has at most ${HEADERS_MAX} headers, ${headers.size} were given`
    throw new ApiError('invalid_webhook_headers', message)
  }
  return Object.fromEntries(headers)
}
