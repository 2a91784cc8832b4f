/** The clients of the trial: the master key, keys and tokens with few rights, and texts hidden from each. */
import { createHmac } from 'node:crypto'

/** Marker in every document of owner `b`. Tenants of owner `a` must not see it. */
export const OTHER_OWNERS = 'belongs-to-owner-b-5d1e'
/** Marker in every document of an index that only the master key and unrestricted keys can access. */
export const PRIVATE = 'private-to-the-house-8c27'
/** API key of an embedder. No answer may contain it. */
export const PROVIDER_SECRET = 'sk-provider-secret-41f0c3aa97'

export const indexes = { films: 'films', many: 'many', hidden: 'hidden-77ab' } as const

export interface Client {
  readonly name: string
  /** Null sends no header. */
  readonly authorization: string | null
  /** Actions of the key, as in `/keys`. */
  readonly actions: readonly string[]
  /** Indexes that it can access; `*` for all. */
  readonly indexes: readonly string[]
  /** Texts that no answer to it may contain. */
  readonly hidden: readonly string[]
}

/** Keys that the trial creates. */
export const keyBodies = [
  { name: 'films', actions: ['search'], indexes: [indexes.films], expiresAt: null },
  { name: 'tenants', actions: ['search'], indexes: [indexes.films, indexes.many], expiresAt: null },
  { name: 'writer', actions: ['documents.*'], indexes: [indexes.many], expiresAt: null },
  { name: 'settler', actions: ['settings.*'], indexes: [indexes.films], expiresAt: null },
  { name: 'tasker', actions: ['tasks.*', 'stats.get'], indexes: [indexes.films], expiresAt: null },
  // Remotes of the network search with this key.
  { name: 'remote', actions: ['search'], indexes: ['*'], expiresAt: null },
  { name: 'keeper', actions: ['keys.get'], indexes: ['*'], expiresAt: null },
] as const

export interface MadeKey {
  readonly name: string
  readonly key: string
  readonly uid: string
}

/** Returns all clients. Call after the keys are created. */
export function clientsOf(masterKey: string, keys: readonly MadeKey[]): readonly Client[] {
  const all = [masterKey, ...keys.map(({ key }) => key)]
  const made = keyBodies.map(({ name, actions, indexes }): Client => {
    const { key } = keys.find((one) => one.name === name) as MadeKey
    const seesKeys = actions.some((action) => action.startsWith('keys.'))
    // A key may see itself.
    const foreign = seesKeys ? [masterKey] : all.filter((one) => one !== key)
    return {
      name,
      authorization: `Bearer ${key}`,
      actions,
      indexes,
      hidden: [PROVIDER_SECRET, ...(name === 'remote' ? [] : [PRIVATE]), ...foreign],
    }
  })
  const base = keys.find(({ name }) => name === 'tenants') as MadeKey
  const tenant = (name: string, searchRules: unknown, reached: readonly string[], exp: number): Client => ({
    name,
    authorization: `Bearer ${tokenOf(base, { searchRules, apiKeyUid: base.uid, exp })}`,
    actions: exp > 0 && reached.length > 0 ? ['search'] : [],
    indexes: reached,
    hidden: [PROVIDER_SECRET, PRIVATE, OTHER_OWNERS, ...all],
  })
  const soon = 4_000_000_000
  const outsider = { actions: [], indexes: [], hidden: [PROVIDER_SECRET, PRIVATE, OTHER_OWNERS, ...all] }
  return [
    {
      name: 'master',
      authorization: `Bearer ${masterKey}`,
      actions: ['*'],
      indexes: ['*'],
      hidden: [PROVIDER_SECRET, masterKey],
    },
    ...made,
    tenant('tenant', { [indexes.many]: { filter: 'owner = a' } }, [indexes.many], soon),
    tenant('tenant-of-all', { '*': { filter: 'owner = a' } }, [indexes.many, indexes.films], soon),
    tenant('tenant-of-films', [indexes.films], [indexes.films], soon),
    tenant('tenant-of-hidden', [indexes.hidden], [], soon),
    { ...tenant('tenant-expired', ['*'], [], 1_000_000_000), actions: [] },
    { name: 'no-key', authorization: null, ...outsider },
    { name: 'wrong-key', authorization: `Bearer ${'f'.repeat(64)}`, ...outsider },
    { name: 'odd-header', authorization: 'Basic bWFzdGVy', ...outsider },
  ]
}

function tokenOf({ key }: MadeKey, payload: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(payload)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}

/** Returns true if `client` has the rights that a route needs, on the index of its path. */
export function mayDo(client: Client, needed: readonly string[], index: string | null): boolean {
  const allows = (action: string): boolean =>
    client.actions.some(
      (one) => one === '*' || one === action || (one.endsWith('.*') && action.startsWith(one.slice(0, -1))),
    )
  const reaches = index === null || client.indexes.includes('*') || client.indexes.includes(index)
  return needed.length === 0 || (needed.every(allows) && reaches)
}
