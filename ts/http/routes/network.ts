import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { network as networkAnswer } from '../answers.js'
import { jsonBody } from '../body.js'
import { described } from '../endpoint.js'
import { sendJson } from '../exchange.js'
import { inTurn } from '../in-turn.js'
import {
  badValue,
  list,
  mapOf,
  nullable,
  refined,
  setting,
  shape,
  string,
  type Values,
} from '../parse/index.js'
import type { RouteServices } from '../services.js'
import { uuidV7 } from '../uuid-v7.js'

/** Under this name the topology is kept in the instance store. */
const STORED_AS = 'network'

interface Remote {
  readonly url: string
  readonly searchApiKey: string | null
  readonly writeApiKey: string | null
}

/** The topology as stored and shown; keys in the order they are rendered. */
interface Network {
  readonly self: string | null
  readonly remotes: Readonly<Record<string, Remote>>
  readonly shards: Readonly<Record<string, { readonly remotes: readonly string[] }>>
  readonly leader: string | null
  readonly version: string
}

const absoluteUrl = refined(string, (text, at) => {
  if (!URL.canParse(text)) throw badValue(`\`${text}\` is not an absolute URL`, at)
  return text
})
const remoteBody = shape({
  url: setting(absoluteUrl, 'invalid_network_url'),
  searchApiKey: setting(string, 'invalid_network_search_api_key'),
  writeApiKey: setting(string, 'invalid_network_write_api_key'),
})
const shardBody = shape({ remotes: setting(list(string), 'invalid_network_shards') })
const networkFields = {
  self: setting(string, 'invalid_network_self'),
  remotes: setting(mapOf(nullable(remoteBody)), 'invalid_network_remotes'),
  shards: setting(mapOf(nullable(shardBody)), 'invalid_network_shards'),
  leader: setting(string, 'invalid_network_leader'),
}
const body = shape(networkFields)

/** Other instances this one knows of. */
export const networkRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, instance, options } = services
  const turn = inTurn()

  app.get(
    '/network',
    described({
      method: 'GET',
      url: '/network',
      summary: 'Get the other instances that this one knows',
      actions: ['network.get'],
      answers: { 200: networkAnswer },
    }),
    async (request, reply) => {
      await auth.require(request.headers.authorization, 'network.get')
      features.require('network', 'reading the network')
      return sendJson(reply, view(await stored()))
    },
  )

  app.patch(
    '/network',
    described({
      method: 'PATCH',
      url: '/network',
      summary: 'Change the other instances that this one knows',
      actions: ['network.update'],
      body: body,
      answers: { 200: networkAnswer },
    }),
    async (request, reply) => {
      await auth.require(request.headers.authorization, 'network.update')
      const patch = await jsonBody(request, options.payloadBytesMax, body)
      features.require('network', 'changing the network')
      if (patch.leader !== undefined && patch.leader !== null) {
        throw new ApiError('requires_enterprise_edition', 'choosing a leader is not part of this edition')
      }
      const updated = await turn(() => change(patch))
      return sendJson(reply, view(updated))
    },
  )

  app.post(
    '/network/control',
    described({
      method: 'POST',
      url: '/network/control',
      summary: 'Steer a network with a leader',
      actions: ['network.update'],
      answers: {},
    }),
    async (request) => {
      await auth.require(request.headers.authorization, 'network.update')
      features.require('network', 'steering the network')
      throw new ApiError('requires_enterprise_edition', 'steering the network is not part of this edition')
    },
  )

  async function change(patch: Values<typeof networkFields>): Promise<Network> {
    const network = await stored()
    const updated: Network = {
      self: patch.self === undefined ? network.self : patch.self,
      remotes: patch.remotes === undefined ? network.remotes : mergeRemotes(network.remotes, patch.remotes),
      shards: patch.shards === undefined ? network.shards : mergeShards(network.shards, patch.shards),
      leader: null,
      version: uuidV7(),
    }
    await instance.putValue(STORED_AS, updated)
    return updated
  }

  async function stored(): Promise<Network> {
    const network = (await instance.value(STORED_AS)) as Network | null
    return network ?? { self: null, remotes: {}, shards: {}, leader: null, version: uuidV7() }
  }
}

type Change<T> = ReadonlyMap<string, T | null> | null
type RemoteChange = ReturnType<typeof remoteBody.json>

function mergeRemotes(known: Network['remotes'], change: Change<RemoteChange>): Network['remotes'] {
  const remotes = new Map(change === null ? [] : Object.entries(known))
  for (const [name, remote] of change ?? []) {
    if (remote === null) {
      remotes.delete(name)
      continue
    }
    const old = remotes.get(name)
    const url = remote.url === undefined ? old?.url : remote.url
    if (url === undefined || url === null) {
      throw new ApiError('missing_network_url', `missing field \`url\` inside \`.remotes.${name}\``)
    }
    const { searchApiKey = old?.searchApiKey ?? null, writeApiKey = old?.writeApiKey ?? null } = remote
    remotes.set(name, { url, searchApiKey, writeApiKey })
  }
  return Object.fromEntries([...remotes].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function mergeShards(
  known: Network['shards'],
  change: Change<ReturnType<typeof shardBody.json>>,
): Network['shards'] {
  const shards = new Map(change === null ? [] : Object.entries(known))
  for (const [name, shard] of change ?? []) {
    if (shard === null) shards.delete(name)
    else shards.set(name, { remotes: shard.remotes ?? [] })
  }
  return Object.fromEntries(shards)
}

function view(network: Network): unknown {
  const remotes = Object.entries(network.remotes).map(([name, remote]) => [
    name,
    { ...remote, status: 'available' },
  ])
  return { ...network, remotes: Object.fromEntries(remotes) }
}
