import test from 'ava'
import ipaddr from 'ipaddr.js'
import { addressPolicy } from '../../ts/outbound/index.js'

// Every entry of IANA's registries of special-purpose addresses (IPv4 and IPv6) and of multicast, and the IPv6 forms
// of IPv4 addresses. Blocks inside others come after them and have their own result.
const blocks: readonly (readonly [block: string, isPublic: boolean, purpose: string])[] = [
  ['0.0.0.0/8', false, 'this network'],
  ['10.0.0.0/8', false, 'private use'],
  ['100.64.0.0/10', false, 'shared by carriers'],
  ['127.0.0.0/8', false, 'loopback'],
  ['169.254.0.0/16', false, 'link-local'],
  ['172.16.0.0/12', false, 'private use'],
  ['192.0.0.0/29', false, 'DS-Lite'],
  ['192.0.0.8/32', false, 'dummy'],
  ['192.0.0.9/32', true, 'port control anycast'],
  ['192.0.0.10/32', true, 'TURN anycast'],
  ['192.0.0.170/31', false, 'NAT64 discovery'],
  ['192.0.2.0/24', false, 'documentation'],
  ['192.31.196.0/24', true, 'AS112'],
  ['192.52.193.0/24', true, 'AMT'],
  ['192.88.99.0/24', false, '6to4 relays, deprecated'],
  ['192.168.0.0/16', false, 'private use'],
  ['192.175.48.0/24', true, 'AS112'],
  ['198.18.0.0/15', false, 'benchmarks'],
  ['198.51.100.0/24', false, 'documentation'],
  ['203.0.113.0/24', false, 'documentation'],
  ['224.0.0.0/4', false, 'multicast'],
  ['240.0.0.0/4', false, 'reserved'],
  ['255.255.255.255/32', false, 'broadcast'],
  ['::/128', false, 'unspecified'],
  ['::1/128', false, 'loopback'],
  ['::/96', false, 'IPv4-compatible, deprecated'],
  ['::ffff:7f00:0/104', false, 'mapped loopback'],
  ['::ffff:8.8.8.0/120', true, 'mapped public'],
  ['::ffff:0:0:0/96', false, 'IPv4-translated'],
  ['64:ff9b::7f00:0/104', false, 'NAT64 of loopback'],
  ['64:ff9b::a9fe:0/112', false, 'NAT64 of link-local'],
  ['64:ff9b::808:800/120', true, 'NAT64 of public addresses'],
  ['64:ff9b:1::/48', false, 'local NAT64'],
  ['100::/64', false, 'discard-only'],
  ['100:0:0:1::/64', false, 'dummy'],
  ['2001::/32', false, 'Teredo'],
  ['2001:1::1/128', true, 'port control anycast'],
  ['2001:1::2/128', true, 'TURN anycast'],
  ['2001:1::3/128', true, 'DNS-SD anycast'],
  ['2001:2::/48', false, 'benchmarks'],
  ['2001:3::/32', true, 'AMT'],
  ['2001:4:112::/48', true, 'AS112'],
  ['2001:10::/28', false, 'ORCHID, deprecated'],
  ['2001:20::/28', true, 'ORCHIDv2'],
  ['2001:30::/28', true, 'drone identifiers'],
  ['2001:db8::/32', false, 'documentation'],
  ['2002::/16', false, '6to4'],
  ['2002:7f00:1::/48', false, '6to4 of loopback'],
  ['2620:4f:8000::/48', true, 'AS112'],
  ['3fff::/20', false, 'documentation'],
  ['5f00::/16', false, 'segment routing'],
  ['fc00::/7', false, 'unique local'],
  ['fe80::/10', false, 'link-local'],
  ['fec0::/10', false, 'site-local, deprecated'],
  ['ff00::/8', false, 'multicast'],
]

// Public addresses next to or between special ones.
const open = [
  ['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ['172.15.255.255', '172.32.0.0', '192.0.1.0', '192.88.98.255', '192.88.100.0', '198.17.255.255'],
  ['198.20.0.0', '223.255.255.255', '2000::1', '2001:200::1', '2606:4700::1111', '2003::1', '3ffe::1'],
].flat()

const malformed = ['localhost', '', '300.1.1.1', '1.2.3.4/8', '::1::', '[::1]']
// Forms that resolvers accept for 127.0.0.1 and for link-local addresses.
const disguised = ['127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', 'fe80::1%eth0', '::FFFF:7F00:1']

function edgesOf(block: string): readonly string[] {
  const { IPv4, IPv6 } = ipaddr
  const family = block.includes(':') ? IPv6 : IPv4
  return [family.networkAddressFromCIDR(block), family.broadcastAddressFromCIDR(block)].map(String)
}

test('only public addresses are allowed by default', (t) => {
  const policy = addressPolicy([])
  for (const [block, isPublic, purpose] of blocks)
    for (const address of edgesOf(block)) t.is(policy.allows(address), isPublic, `${address}: ${purpose}`)
  for (const address of [...malformed, ...disguised]) t.false(policy.allows(address), address)
  for (const address of open) t.true(policy.allows(address), address)
})

test('an allowed network is reachable, its neighbours are not', (t) => {
  const policy = addressPolicy(['127.0.0.0/8', '192.168.7.9', 'fd00::/8'])
  for (const address of ['127.0.0.1', '::ffff:127.9.9.9', '192.168.7.9', 'fd12::1', '1.1.1.1']) {
    t.true(policy.allows(address), address)
  }
  for (const address of ['192.168.7.8', 'fc00::1', '10.0.0.1', '::1'])
    t.false(policy.allows(address), address)
})

test('the policy `any` allows everything', (t) => {
  t.true(addressPolicy('any').allows('127.0.0.1'))
})
