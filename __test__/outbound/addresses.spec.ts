import test from 'ava'
import { addressPolicy } from '../../ts/outbound/index.js'

// First and last address of every network that is refused, and its public neighbours.
const refused = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.1', '127.255.255.255'],
  ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.8', '192.0.0.11', '192.0.0.255'],
  ['192.0.2.1', '198.51.100.7', '203.0.113.9'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['240.0.0.0', '255.255.255.255'],
  ['::', '::1', '::ffff:127.0.0.1', '::ffff:10.1.2.3', '64:ff9b:1::1', '64:ff9b::7f00:1', '100::1'],
  [
    '2001::1',
    '2001:1ff:ffff::',
    '2001:db8::1',
    '2002::1',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
  ],
  ['localhost', '', '127.1', '0x7f.0.0.1', '300.1.1.1', 'fe80::1%eth0', '1.2.3.4/8'],
].flat()

const open = [
  ['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ['172.15.255.255', '172.32.0.0', '192.0.0.9', '192.0.0.10', '192.0.1.0', '198.17.255.255', '198.20.0.0'],
  [
    '239.255.255.255',
    '2606:4700::1111',
    '2001:1::1',
    '2001:3::9',
    '2001:4:112::1',
    '2001:20::1',
    '2001:200::1',
  ],
  ['::ffff:8.8.8.8', '64:ff9b::808:808'],
].flat()

test('only public addresses are reached unless networks are allowed', (t) => {
  const policy = addressPolicy([])
  for (const address of refused) t.false(policy.allows(address), address)
  for (const address of open) t.true(policy.allows(address), address)
})

test('an allowed network is reached, its neighbours are not', (t) => {
  const policy = addressPolicy(['127.0.0.0/8', '192.168.7.9', 'fd00::/8'])
  for (const address of ['127.0.0.1', '::ffff:127.9.9.9', '192.168.7.9', 'fd12::1', '1.1.1.1']) {
    t.true(policy.allows(address), address)
  }
  for (const address of ['192.168.7.8', 'fc00::1', '10.0.0.1', '::1'])
    t.false(policy.allows(address), address)
})

test('without a policy everything is reached', (t) => {
  t.true(addressPolicy('any').allows('127.0.0.1'))
})
