import { inTurn } from '../../instance/index.js'
import type { InstanceStore } from '../../tasks/index.js'

/** The key of the network in the instance store. */
const STORED_AS = 'network'

/** Another instance. */
export interface Remote {
  readonly url: string
  readonly searchApiKey: string | null
  readonly writeApiKey: string | null
}

/** The network, as stored and shown. Answers show the keys in this order. */
export interface Network {
  /** The name of this instance in the network; null: it has no name. */
  readonly self: string | null
  readonly remotes: Readonly<Record<string, Remote>>
  readonly shards: Readonly<Record<string, { readonly remotes: readonly string[] }>>
  readonly leader: string | null
  readonly version: string
}

const emptyNetwork: Network = {
  self: null,
  remotes: {},
  shards: {},
  leader: null,
  version: '00000000-0000-0000-0000-000000000000',
}

/** Caches the network of the instance store, because each search over remotes needs it. */
export class NetworkBook {
  readonly #store: InstanceStore
  readonly #turn = inTurn()
  #network: Promise<Network> | null = null

  constructor(store: InstanceStore) {
    this.#store = store
    store.onReplaced(async () => {
      this.#network = null
    })
  }

  current(): Promise<Network> {
    this.#network ??= this.#store.value(STORED_AS).then(
      (stored) => (stored as Network | null) ?? emptyNetwork,
      (error: unknown) => {
        this.#network = null
        throw error
      },
    )
    return this.#network
  }

  /** Replaces the network by the result of `change` and stores it. Changes run one after another. */
  change(change: (network: Network) => Network): Promise<Network> {
    return this.#turn(async () => {
      const changed = change(await this.current())
      await this.#store.putValue(STORED_AS, changed)
      this.#network = Promise.resolve(changed)
      return changed
    })
  }
}
