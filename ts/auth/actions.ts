/** All actions that a key can hold, in the order of error messages. Source: the API's key schema. */
export const actions = [
  '*',
  'search',
  'documents.*',
  'documents.add',
  'documents.get',
  'documents.delete',
  'indexes.*',
  'indexes.create',
  'indexes.get',
  'indexes.update',
  'indexes.delete',
  'indexes.swap',
  'tasks.*',
  'tasks.cancel',
  'tasks.delete',
  'tasks.get',
  'settings.*',
  'settings.get',
  'settings.update',
  'stats.*',
  'stats.get',
  'metrics.*',
  'metrics.get',
  'dumps.*',
  'dumps.create',
  'snapshots.*',
  'snapshots.create',
  'version',
  'keys.create',
  'keys.get',
  'keys.update',
  'keys.delete',
  'experimental.get',
  'experimental.update',
  'export',
  'network.get',
  'network.update',
  'chatCompletions',
  'chats.*',
  'chats.get',
  'chats.delete',
  'chatsSettings.*',
  'chatsSettings.get',
  'chatsSettings.update',
  '*.get',
  'webhooks.get',
  'webhooks.update',
  'webhooks.delete',
  'webhooks.create',
  'webhooks.*',
  'indexes.compact',
  'fields.post',
  'tasks.compact',
  'dynamicSearchRules.get',
  'dynamicSearchRules.create',
  'dynamicSearchRules.update',
  'dynamicSearchRules.delete',
  'dynamicSearchRules.*',
] as const
export type Action = (typeof actions)[number]

/** The actions that `*.get` grants. Excludes `keys.get`: reading the keys would grant all their actions. */
const readOnly: ReadonlySet<string> = new Set<Action>([
  'search',
  'documents.get',
  'export',
  'indexes.get',
  'tasks.get',
  'settings.get',
  'stats.get',
  'metrics.get',
  'version',
  'experimental.get',
  'network.get',
  'chats.get',
  'chatsSettings.get',
  'webhooks.get',
  'fields.post',
  'dynamicSearchRules.get',
])

/** Families of actions that concern the complete instance, not an index. */
const globalFamilies: ReadonlySet<string> = new Set([
  'metrics',
  'dumps',
  'snapshots',
  'version',
  'keys',
  'experimental',
  'export',
  'network',
  'chats',
  'chatsSettings',
  'webhooks',
  'dynamicSearchRules',
])

/** Returns true if the actions `held` include `action`. */
export function grants(held: readonly string[], action: Action): boolean {
  return held.some((one) => {
    if (one === '*' || one === action) return true
    if (one === '*.get') return readOnly.has(action)
    return one.endsWith('.*') && action.startsWith(one.slice(0, -1))
  })
}

/** Returns true if `action` concerns the complete instance. A key limited to some indexes cannot use it. */
export function isGlobal(action: string): boolean {
  return action === 'tasks.compact' || globalFamilies.has(action.split('.')[0] ?? '')
}
