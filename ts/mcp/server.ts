/** A server of the protocol, for a single HTTP request or for a connection over stdio. */
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, Server } from '@modelcontextprotocol/server'
import { type Api, type ApiFault, ask, indexPath, type Json, ToolError } from './api.js'
import { bounded } from './bounded.js'
import { advised } from './hints.js'
import { namedIndexes, resourceTemplate, resourceUri, searchable, uidOf } from './indexes.js'
import { instructions } from './instructions.js'
import { DISCOVERY_TTL_MS, LIST_TTL_MS, RESOURCES_MAX } from './limits.js'
import { mayUse, type Tool } from './tool.js'
import { aliases, readTools, writeTools } from './tools/index.js'

export interface McpSetup {
  readonly version: string
  /** True if the operator allows tools that change data. */
  readonly writes: boolean
}

/** Returns a server whose tools call `api`. */
export function protocolServer({ version, writes }: McpSetup, api: Api): Server {
  const list = { ttlMs: LIST_TTL_MS, cacheScope: 'private' } as const
  const server = new Server(
    { name: 'siftd', title: 'siftd search', version },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions,
      cacheHints: {
        'server/discover': { ttlMs: DISCOVERY_TTL_MS, cacheScope: 'private' },
        'tools/list': list,
        'resources/list': list,
        'resources/read': list,
        'resources/templates/list': list,
        'prompts/list': list,
      },
    },
  )
  const tools = (indexes: string): readonly Tool[] => [...readTools(indexes), ...(writes ? writeTools : [])]

  server.setRequestHandler('tools/list', async () => {
    const all = tools((await api.allows('search')) ? await namedIndexes(api) : '')
    const usable = await Promise.all(all.map((tool) => mayUse(tool, api)))
    return { tools: all.filter((_, at) => usable[at]).map(shown) }
  })

  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const name = aliases[params.name] ?? params.name
    const tool = tools('').find((one) => one.name === name)
    if (tool === undefined) {
      if (writeTools.some((one) => one.name === name)) return failed(writesAreOff)
      const names = tools('').map((one) => one.name)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool \`${params.name.slice(0, 100)}\`; the tools are ${names.join(', ')}`,
      )
    }
    try {
      const answer = bounded(await tool.run(params.arguments ?? {}, api, mcpReq.signal), tool)
      return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer }
    } catch (error) {
      if (error instanceof ToolError) return failed(error.fault)
      throw error
    }
  })

  server.setRequestHandler('resources/list', async () => {
    const indexes = await searchable(api, RESOURCES_MAX)
    return {
      resources: indexes.map(({ uid, numberOfDocuments }) => ({
        uri: resourceUri(String(uid)),
        name: String(uid),
        title: `Index ${uid}`,
        description: `Fields, filters and examples of ${uid}, with ${numberOfDocuments} documents`,
        mimeType: 'application/json',
      })),
    }
  })

  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [
      {
        uriTemplate: resourceTemplate,
        name: 'index',
        title: 'Description of an index',
        mimeType: 'application/json',
      },
    ],
  }))

  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const uid = uidOf(uri)
    if (uid === null)
      throw new ResourceNotFoundError(
        uri,
        `there is no resource \`${uri.slice(0, 200)}\`; the resources are ${resourceTemplate}`,
      )
    const path = indexPath(uid, '/description')
    const description = await ask(api, { method: 'GET', path }).catch((error: unknown) => {
      if (error instanceof ToolError) throw new ResourceNotFoundError(uri, error.message)
      throw error
    })
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(description) }] }
  })

  server.setRequestHandler('prompts/list', async () => ({ prompts: [] }))
  return server
}

const writesAreOff: ApiFault = {
  message: 'writes are off; an operator switches them on with --mcp-writes, or with --writes of `siftd mcp`',
  code: 'feature_not_enabled',
  type: 'invalid_request',
  link: '',
}

const shown = ({ name, title, description, inputSchema, outputSchema, writes }: Tool) => ({
  name,
  title,
  description,
  inputSchema: inputSchema as { type: 'object' } & Record<string, unknown>,
  outputSchema: outputSchema as { type: 'object' } & Record<string, unknown>,
  annotations: {
    readOnlyHint: writes === 'never',
    openWorldHint: false,
    ...(writes !== 'never' && { destructiveHint: writes === 'changes', idempotentHint: true }),
  },
})

function failed(fault: ApiFault) {
  return {
    isError: true,
    content: [{ type: 'text' as const, text: advised(fault) }],
    structuredContent: fault as unknown as Json as Record<string, unknown>,
  }
}
