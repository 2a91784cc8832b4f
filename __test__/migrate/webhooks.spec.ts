import test from 'ava'
import { copyWebhooks } from '../../ts/transfer/migrate/instance-parts.js'
import type { Inventory } from '../../ts/transfer/migrate/inventory.js'
import type { Peer } from '../../ts/transfer/peer/index.js'

const inventory = (...urls: readonly string[]): Inventory =>
  ({ webhooks: urls.map((url) => ({ url, headers: {}, isEditable: true })) }) as unknown as Inventory

test('a webhook whose URL has a user is copied once, and a masked user is reported', async (t) => {
  const created: unknown[] = []
  const to = {
    json: async (_method: string, _path: string, { body }: { body: { url: string } }) => {
      created.push(body.url)
      return { uuid: '1' }
    },
  } as unknown as Peer
  const open = 'https://ferry:harbour@hook.example/'
  const masked = 'https://XXX...@hook.example/'
  t.deepEqual(await copyWebhooks(to, inventory(open), inventory()), {
    copied: ['webhook of hook.example'],
    remarks: [],
  })
  t.deepEqual((await copyWebhooks(to, inventory(open), inventory(masked))).copied, [])
  const { remarks } = await copyWebhooks(to, inventory(masked), inventory())
  t.deepEqual(remarks, [
    'webhook of hook.example needs its url again, whose user the source masks: PATCH /webhooks/1',
  ])
  t.deepEqual(created, [open, masked])
})
