/** Decides which web pages may call `POST /mcp`. A page of any origin could otherwise use an agent's local server. */
import { isIP } from 'node:net'
import { ApiError } from '../../errors/index.js'

/** The path without slashes at its ends. */
export const MCP_PATH = 'mcp'

export interface OriginRules {
  /** Origins in addition to those of this machine; `*`: any. */
  readonly mcpAllowedOrigins: '*' | readonly string[]
}

/** @throws ApiError `bad_request` with status 403 for an origin that is not allowed */
export function requireMcpOrigin(origin: string, { mcpAllowedOrigins: allowed }: OriginRules): void {
  if (allowed === '*' || allowed.includes(origin) || isLoopback(origin)) return
  throw new ApiError(
    'bad_request',
    `the origin \`${origin}\` may not call this route; allow it with --mcp-allowed-origins`,
    403,
  )
}

function isLoopback(origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { hostname } = new URL(origin)
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) === 4) return address.startsWith('127.')
  return address === '::1' || hostname === 'localhost' || hostname.endsWith('.localhost')
}
