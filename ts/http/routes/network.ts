import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  anything,
  httpUrl,
  list,
  mapOf,
  nullable,
  setting,
  shape,
  string,
  uuidV7,
} from '../../operations/index.js'
import { network as networkAnswer, sendJson } from '../answers/index.js'
import { recordUse } from '../metrics/index.js'
import { serve } from '../operations/index.js'
import { type Network, type Remote, remoteStates } from '../remotes/index.js'
import type { RouteServices } from '../route-services.js'
import { REMOTES_MAX, SHARDS_MAX } from './limits.js'

const fewRemotes = { max: REMOTES_MAX, what: 'remotes' }
const fewShards = { max: SHARDS_MAX, what: 'shards' }
const remoteBody = shape({
  url: setting(httpUrl, 'invalid_network_url'),
  searchApiKey: setting(string, 'invalid_network_search_api_key'),
  writeApiKey: setting(string, 'invalid_network_write_api_key'),
})
const shardBody = shape({
  remotes: setting(list(string, fewRemotes), 'invalid_network_shards'),
  addRemotes: setting(list(string, fewRemotes), 'invalid_network_shards'),
  removeRemotes: setting(list(string, fewRemotes), 'invalid_network_shards'),
})
const body = shape({
  self: setting(string, 'invalid_network_self'),
  remotes: setting(mapOf(nullable(remoteBody), fewRemotes), 'invalid_network_remotes'),
  shards: setting(mapOf(nullable(shardBody), fewShards), 'invalid_network_shards'),
  leader: setting(string, 'invalid_network_leader'),
  previousRemotes: setting(anything, 'unexpected_network_previous_remotes'),
  previousShards: setting(anything, 'bad_request'),
})

/** The network: other instances that a search can include. */
export const networkRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { features, network, outbound } = services

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/network',
      summary: 'Get the network: the other instances',
      actions: ['network.get'],
      answers: { 200: networkAnswer },
    },
    async ({ reply }) => {
      features.require('network', 'reading the network')
      return sendJson(reply, await view(await network.current()))
    },
  )

  serve(
    app,
    services,
    {
      method: 'PATCH',
      url: '/network',
      summary: 'Change the network: the other instances',
      actions: ['network.update'],
      body,
      answers: { 200: networkAnswer },
    },
    async ({ request, reply, body: patch }) => {
      features.require('network', 'changing the network')
      if (patch.previousRemotes !== undefined) {
        throw new ApiError(
          'unexpected_network_previous_remotes',
          '`.previousRemotes` is not for clients to send',
        )
      }
      if (patch.leader !== undefined && patch.leader !== null) {
        throw new ApiError('requires_enterprise_edition', 'choosing a leader is not part of this edition')
      }
      const changed = await network.change((known) => changedNetwork(known, patch))
      recordUse(services, request, 'networkUpdated', {
        network_has_self: changed.self !== null,
        network_size: Object.keys(changed.remotes).length,
      })
      return sendJson(reply, await view(changed))
    },
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/network/control',
      summary: 'Control a network with a leader',
      actions: ['network.update'],
      body: anything,
      answers: {},
    },
    async () => {
      features.require('network', 'steering the network')
      throw new ApiError('requires_enterprise_edition', 'steering the network is not part of this edition')
    },
  )

  /** Returns the network for answers, with the state of each remote. */
  async function view(known: Network): Promise<unknown> {
    const states = await remoteStates(outbound, known)
    const remotes = Object.entries(known.remotes).map(([name, remote]) => [
      name,
      { ...remote, status: states.get(name) },
    ])
    return { ...known, remotes: Object.fromEntries(remotes) }
  }
}

type NetworkPatch = ReturnType<typeof body.json>
type Change<T> = ReadonlyMap<string, T | null> | null
type RemoteChange = ReturnType<typeof remoteBody.json>
type ShardChange = ReturnType<typeof shardBody.json>

function changedNetwork(known: Network, { self, remotes, shards }: NetworkPatch): Network {
  const changed = remotes === undefined ? known.remotes : mergeRemotes(known.remotes, remotes)
  const removed = new Set(Object.keys(known.remotes).filter((name) => !Object.hasOwn(changed, name)))
  return {
    self: self === undefined ? known.self : self,
    remotes: changed,
    shards: mergeShards(withoutRemotes(known.shards, removed), shards),
    leader: null,
    version: uuidV7(),
  }
}

function mergeRemotes(known: Network['remotes'], change: Change<RemoteChange>): Network['remotes'] {
  const remotes = new Map(change === null ? [] : Object.entries(known))
  for (const [name, remote] of change ?? []) {
    if (remote === null) remotes.delete(name)
    else remotes.set(name, mergedRemote(name, remotes.get(name), remote))
  }
  if (remotes.size > REMOTES_MAX) {
    const message = `a network has at most ${REMOTES_MAX} remotes, with those sent it would have ${remotes.size}`
    throw new ApiError('invalid_network_remotes', message)
  }
  return Object.fromEntries([...remotes].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function mergedRemote(name: string, old: Remote | undefined, change: RemoteChange): Remote {
  const url = change.url === undefined ? old?.url : change.url
  if (url === undefined || url === null) {
    const where = `\`.remotes.${name}\``
    throw old === undefined
      ? new ApiError('missing_network_url', `missing field \`url\` inside ${where}`)
      : new ApiError(
          'invalid_network_url',
          `\`url\` cannot be null inside ${where}; remove the remote instead`,
        )
  }
  const { searchApiKey = old?.searchApiKey ?? null, writeApiKey = old?.writeApiKey ?? null } = change
  return { url, searchApiKey, writeApiKey }
}

/** Removes the remotes `removed` from the shards. A shard without remotes is removed too. */
function withoutRemotes(shards: Network['shards'], removed: ReadonlySet<string>): Network['shards'] {
  const left = Object.entries(shards).map(
    ([name, { remotes }]) => [name, { remotes: remotes.filter((remote) => !removed.has(remote)) }] as const,
  )
  return Object.fromEntries(left.filter(([, { remotes }]) => remotes.length > 0))
}

function mergeShards(known: Network['shards'], change: Change<ShardChange> | undefined): Network['shards'] {
  if (change === undefined) return known
  const shards = new Map(change === null ? [] : Object.entries(known))
  for (const [name, shard] of change ?? []) {
    const remotes = shard === null ? [] : mergedShard(shards.get(name)?.remotes ?? [], shard)
    if (remotes.length === 0) shards.delete(name)
    else shards.set(name, { remotes })
  }
  if (shards.size > SHARDS_MAX) {
    const message = `a network has at most ${SHARDS_MAX} shards, with those sent it would have ${shards.size}`
    throw new ApiError('invalid_network_shards', message)
  }
  return Object.fromEntries(shards)
}

/** Returns the remotes of a shard after a change. First replaces them, then adds, then removes. */
function mergedShard(
  known: readonly string[],
  { remotes, addRemotes, removeRemotes }: ShardChange,
): string[] {
  const replaced = remotes === undefined ? known : (remotes ?? [])
  const added = new Set([...replaced, ...(addRemotes ?? [])])
  for (const name of removeRemotes ?? []) added.delete(name)
  if (added.size > REMOTES_MAX) {
    const message = `a shard has at most ${REMOTES_MAX} remotes, with those sent it would have ${added.size}`
    throw new ApiError('invalid_network_shards', message)
  }
  return [...added].sort()
}
