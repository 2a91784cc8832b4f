/** A slice of the failover trial, and the judgement of its histories; `npm run trials -- failover` runs 300 rounds. */
import test from 'ava'
import {
  type Acknowledgement,
  fallenPositions,
  formerEpochs,
  incompleteReads,
} from '../../../trials/failover/history.js'
import { failovers } from '../../../trials/failover/trial.js'
import { percentile } from '../../../trials/percentile.js'
import { tempDir } from '../../backup/archives.js'
import { testEngine } from '../../support/server.js'
import { startStore, storeServer } from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'

testNeeding([storeServer('gofakes3')])(
  'three servers that hand over under load lose no acknowledged document',
  async (t) => {
    t.timeout(300_000)
    const { problems, acknowledged, missing } = await failovers({
      ...{ engine: testEngine, ack: 'bucket', seed: 5, rounds: 1, kinds: ['handover'] },
      ...{ store: await startStore(t, 'gofakes3'), directory: await tempDir(t) },
      report: (line) => t.log(line),
    })
    t.deepEqual(problems, [])
    t.true(acknowledged > 3)
    t.is(missing, 0)
  },
)

const write = (id: number, epoch: number, sentAt: number, answeredAt: number): Acknowledgement => ({
  ...{ id, task: id, epoch, sentAt, answeredAt },
})

test('an acknowledgement of a former leader is found only if it was sent after the first of its successor', (t) => {
  t.deepEqual(formerEpochs([write(1, 0, 1, 2), write(2, 7, 3, 6), write(3, 0, 5, 8)]), [])
  t.deepEqual(formerEpochs([write(1, 7, 1, 2), write(2, 0, 3, 4)]), [
    'document 2 was acknowledged in epoch 0 after epoch 7 began',
  ])
})

test('a position that falls is found for each server, unless the answers overlap', (t) => {
  const seen = (server: string, position: number, sentAt: number, answeredAt: number) => ({
    ...{ server, position, sentAt, answeredAt },
  })
  t.deepEqual(fallenPositions([seen('one', 5, 1, 2), seen('two', 3, 3, 4), seen('one', 5, 5, 6)]), [])
  t.deepEqual(fallenPositions([seen('one', 5, 1, 4), seen('one', 3, 2, 6)]), [])
  t.deepEqual(fallenPositions([seen('one', 5, 1, 2), seen('one', 3, 3, 4)]), [
    'one was at 3 after it had been at 5',
  ])
})

test('a strong read that lacks a task is found', (t) => {
  const read = { server: 'one', kind: 'task', asked: [1, 2] } as const
  t.deepEqual(
    incompleteReads([
      { ...read, found: [2, 1] },
      { ...read, found: [1] },
    ]),
    ['a strong read on one lacks task 2'],
  )
})

test('percentiles are values of the list', (t) => {
  t.is(percentile([], 0.5), null)
  t.is(percentile([3, 1, 2], 0.5), 2)
  t.is(percentile([3, 1, 2], 0.99), 3)
})
