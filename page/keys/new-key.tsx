/** Creates a key: rights by purpose or one by one, indexes, expiry. */
import { useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import { Dialog, Problem } from '../parts/basics.tsx'
import { asFailure } from '../state/loading.ts'
import { SecretValue } from './secret-value.tsx'
import type { ApiKey } from './types.ts'

/** Rights for common purposes. `own` lets the user type the actions. */
const purposes = [
  { name: 'search', text: 'Search', actions: ['search'] },
  { name: 'write', text: 'Search and write documents', actions: ['search', 'documents.*', 'tasks.get'] },
  {
    name: 'manage',
    text: 'Manage documents, indexes and settings',
    actions: ['search', 'documents.*', 'indexes.*', 'settings.*', 'tasks.*', 'stats.*'],
  },
  { name: 'all', text: 'Everything', actions: ['*'] },
  { name: 'own', text: 'Actions that I type', actions: [] },
] as const
type Purpose = (typeof purposes)[number]['name']

const listOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((part) => part !== '')

export function NewKeyDialog({
  close,
  created,
}: {
  readonly close: () => void
  readonly created: () => void
}) {
  const [name, setName] = useState('')
  const [purpose, setPurpose] = useState<Purpose>('search')
  const [actions, setActions] = useState('')
  const [indexes, setIndexes] = useState('*')
  const [expires, setExpires] = useState('')
  const [failure, setFailure] = useState<Failure | null>(null)
  const [made, setMade] = useState<ApiKey | null>(null)
  const submit = (event: Event): void => {
    event.preventDefault()
    const body = {
      name: name || null,
      actions: purpose === 'own' ? listOf(actions) : purposes.find((one) => one.name === purpose)!.actions,
      indexes: listOf(indexes),
      // A date without a time is the end of that day in the time zone of the user.
      expiresAt: expires === '' ? null : new Date(`${expires}T23:59:59`).toISOString(),
    }
    ask<ApiKey>('POST', '/keys', { body }).then(
      (key) => {
        setMade(key)
        created()
      },
      (error: unknown) => setFailure(asFailure(error)),
    )
  }
  if (made !== null)
    return (
      <Dialog title="The key is created" close={close}>
        <p>Give it to its client now. Anyone who has it has its rights.</p>
        <SecretValue value={made.key} label="the new key" />
        <div class="row">
          <button type="button" class="main" onClick={close}>
            Done
          </button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title="New key" close={close}>
      <form class="stack" onSubmit={submit}>
        <label class="field">
          Name
          <input autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="field">
          May
          <select value={purpose} onChange={(event) => setPurpose(event.currentTarget.value as Purpose)}>
            {purposes.map((one) => (
              <option key={one.name} value={one.name}>
                {one.text}
              </option>
            ))}
          </select>
        </label>
        {purpose === 'own' && (
          <label class="field">
            Actions, separated by commas
            <input
              required
              autocomplete="off"
              placeholder="search, documents.add"
              value={actions}
              onInput={(event) => setActions(event.currentTarget.value)}
            />
          </label>
        )}
        <label class="field">
          Indexes, separated by commas; * is all, products-* those that begin so
          <input
            required
            autocomplete="off"
            value={indexes}
            onInput={(event) => setIndexes(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          Last day; empty means that it never expires
          <input type="date" value={expires} onInput={(event) => setExpires(event.currentTarget.value)} />
        </label>
        {failure !== null && <Problem failure={failure} />}
        <div class="row">
          <button type="submit" class="main">
            Create
          </button>
        </div>
      </form>
    </Dialog>
  )
}
