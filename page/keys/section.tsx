/** Keys: who may do what, with creation, expiry and deletion. */
import { useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import type { Page } from '../api/types.ts'
import { Dialog, Empty, Problem, Scroll } from '../parts/basics.tsx'
import { when } from '../parts/text.ts'
import { asFailure, useLoaded } from '../state/loading.ts'
import { NewKeyDialog } from './new-key.tsx'
import { SecretValue } from './secret-value.tsx'
import type { ApiKey } from './types.ts'

const KEYS_MAX = 200

export function KeysSection() {
  const keys = useLoaded((signal) => ask<Page<ApiKey>>('GET', `/keys?limit=${KEYS_MAX}`, { signal }), [])
  const [isCreating, setIsCreating] = useState(false)
  const [deleted, setDeleted] = useState<ApiKey | null>(null)
  const results = keys.value?.results ?? []
  return (
    <div class="stack">
      <div class="row">
        <h1 class="grow">Keys</h1>
        <button type="button" class="main" disabled={keys.value === null} onClick={() => setIsCreating(true)}>
          New key
        </button>
      </div>
      {keys.failure !== null && <Refusal failure={keys.failure} />}
      {keys.value !== null && results.length === 0 && <Empty title="No key" />}
      {results.length > 0 && (
        <Scroll label="Keys">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Key</th>
                <th scope="col">May</th>
                <th scope="col">Indexes</th>
                <th scope="col">Expires</th>
                <th scope="col" class="fit">
                  <span class="hidden">Delete</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {results.map((key) => (
                <Row key={key.uid} apiKey={key} remove={() => setDeleted(key)} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {keys.value !== null && keys.value.total > KEYS_MAX && (
        <p class="small soft">
          The first {KEYS_MAX} of {keys.value.total}.
        </p>
      )}
      {isCreating && <NewKeyDialog close={() => setIsCreating(false)} created={keys.reload} />}
      {deleted !== null && (
        <DeleteDialog
          apiKey={deleted}
          close={() => setDeleted(null)}
          done={() => {
            setDeleted(null)
            keys.reload()
          }}
        />
      )}
    </div>
  )
}

const Refusal = ({ failure }: { readonly failure: Failure }) => (
  <div class="stack">
    <Problem failure={failure} />
    {failure.code === 'missing_master_key' && (
      <p class="soft">
        Start the server with <code>--master-key-file</code> to protect it and to create keys.
      </p>
    )}
  </div>
)

/** The name of a key for people: keys without a name show their uid. */
const nameOf = ({ name, uid }: ApiKey): string => name || uid

function Row({ apiKey, remove }: { readonly apiKey: ApiKey; readonly remove: () => void }) {
  const { key, description, actions, indexes, expiresAt } = apiKey
  const isExpired = expiresAt !== null && Date.parse(expiresAt) < Date.now()
  return (
    <tr>
      <th scope="row" class="wrap">
        {nameOf(apiKey)}
        {description !== null && <span class="soft small line">{description}</span>}
      </th>
      <td>
        <SecretValue value={key} label={`the key ${nameOf(apiKey)}`} />
      </td>
      <td class="wrap">{actions.includes('*') ? 'everything' : actions.join(', ')}</td>
      <td class="wrap">{indexes.includes('*') ? 'all' : indexes.join(', ')}</td>
      <td>{expiresAt === null ? 'never' : `${isExpired ? 'expired ' : ''}${when(expiresAt)}`}</td>
      <td class="fit">
        <button type="button" class="plain danger" aria-label={`Delete ${nameOf(apiKey)}`} onClick={remove}>
          Delete
        </button>
      </td>
    </tr>
  )
}

function DeleteDialog(props: {
  readonly apiKey: ApiKey
  readonly close: () => void
  readonly done: () => void
}) {
  const { apiKey, close, done } = props
  const [failure, setFailure] = useState<Failure | null>(null)
  const remove = (): void => {
    ask('DELETE', `/keys/${apiKey.uid}`).then(done, (error: unknown) => setFailure(asFailure(error)))
  }
  return (
    <Dialog title={`Delete ${nameOf(apiKey)}?`} close={close}>
      <p>Clients with this key and its tenant tokens are refused at once. This cannot be undone.</p>
      {failure !== null && <Problem failure={failure} />}
      <div class="row">
        <button type="button" class="danger" onClick={remove}>
          Delete the key
        </button>
      </div>
    </Dialog>
  )
}
