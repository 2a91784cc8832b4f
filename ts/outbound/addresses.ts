import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Networks that may be called in addition to public ones, as CIDR or single addresses. `any`: all addresses. */
export type AllowedNetworks = 'any' | readonly string[]

/** Decides which addresses this process may call. */
export interface AddressPolicy {
  /** @param address an IPv4 or IPv6 address as text, without brackets; anything else is refused */
  allows(address: string): boolean
}

/** A call to an address that the policy forbids. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'

  /** @param host as the caller wrote it; the message does not reveal its addresses */
  constructor(readonly host: string) {
    super(
      `\`${host}\` leads to an address that is not public; --experimental-allowed-ip-networks can allow its network`,
    )
  }
}

// Addresses that must not be called. Source: IANA's registries of special-purpose addresses, entries that are not
// globally reachable; IANA's registry of multicast addresses; RFC 7526 for the anycast address of 6to4 relays.
const privateNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // 2001::/23 includes Teredo (2001::/32), and 2002::/16 is 6to4. Addresses of both contain IPv4 addresses.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map(network)

// Public parts of the networks above.
const publicNetworks = [
  '192.0.0.9/32',
  '192.0.0.10/32',
  '2001:1::1/128',
  '2001:1::2/128',
  '2001:1::3/128',
  '2001:3::/32',
  '2001:4:112::/48',
  '2001:20::/28',
  '2001:30::/28',
].map(network)

/**
 * All IPv6 addresses that IANA assigns for global use. All others are never public: forms of IPv4 addresses
 * (`::7f00:1`, `::ffff:0:7f00:1`), local translators, discard-only, unique local, link-local, site-local, multicast.
 */
const globalUnicast = network('2000::/3')

/** The prefix of IPv4 addresses behind a translator (RFC 6052). These addresses are checked as IPv4. */
const translated = network('64:ff9b::/96')

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

function network(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const within = (address: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Network): boolean =>
  address.kind() === base.kind() && address.match(base, bits)

/**
 * A policy that allows public addresses and those of `allowed`.
 * @throws Error if an entry of `allowed` is not a network
 */
export function addressPolicy(allowed: AllowedNetworks): AddressPolicy {
  if (allowed === 'any') return { allows: () => true }
  const added = allowed.map(network)
  return {
    allows(text) {
      if (!ipaddr.isValid(text)) return false
      const address = embedded(ipaddr.process(text))
      if (added.some((each) => within(address, each))) return true
      if (publicNetworks.some((each) => within(address, each))) return true
      if (address.kind() === 'ipv6' && !within(address, globalUnicast)) return false
      return !privateNetworks.some((each) => within(address, each))
    },
  }
}

function embedded(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  return within(address, translated) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}

/** Resolves a name to all of its addresses. */
export type Resolve = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void

const systemResolve: Resolve = (hostname, options, callback) =>
  lookup(hostname, { ...options, all: true }, (error, addresses) => callback(error, addresses ?? []))

/**
 * Resolves a name once for all callers that request it at the same time. The system's resolver takes one of the few
 * threads that files need too, for seconds if no DNS server answers.
 */
function sharing(resolve: Resolve): Resolve {
  const waiting = new Map<string, Parameters<Resolve>[2][]>()
  return (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options])
    const others = waiting.get(key)
    if (others !== undefined) {
      others.push(callback)
      return
    }
    const callbacks = [callback]
    waiting.set(key, callbacks)
    resolve(hostname, options, (error, addresses) => {
      waiting.delete(key)
      for (const each of callbacks) each(error, addresses)
    })
  }
}

/**
 * A lookup for sockets that refuses a name if the policy forbids one of its addresses. The socket connects to the
 * checked addresses, so changing the DNS record after the check has no effect.
 */
export function guardedLookup(policy: AddressPolicy, resolve: Resolve = systemResolve): LookupFunction {
  const shared = sharing(resolve)
  return (hostname, options, callback) => {
    shared(hostname, options, (error, addresses) => {
      const [first] = addresses
      if (error !== null || first === undefined) {
        callback(error ?? Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' }), '')
      } else if (!addresses.every(({ address }) => policy.allows(address))) {
        callback(new AddressRefusedError(hostname), '')
      } else if (options.all) {
        callback(null, [...addresses])
      } else {
        callback(null, first.address, first.family)
      }
    })
  }
}
