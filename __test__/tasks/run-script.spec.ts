/** Scripts on a machine where the interpreter does not load. */
import test from 'ava'
import { scriptRunner } from '../../ts/tasks/execute/run-script.js'

const page = { function: '()', context: null, primaryKey: null, timeMsMax: 1, documents: Buffer.from('[]') }
const edited = { changed: Buffer.alloc(0), deleted: [], documents: 0 }

test('a client is not shown the paths of a binary that does not load, and the next script tries again', async (t) => {
  const logged: object[] = []
  const reasons = ['/srv/siftd/npm/siftd-script.node: file too short']
  let loads = 0
  const run = scriptRunner({ warn: (facts) => logged.push(facts) }, () =>
    ++loads === 1 ? { reasons } : async () => edited,
  )
  const error = await t.throwsAsync(run(page), { code: 'feature_not_enabled' } as object)
  t.regex(error.message, /^editing documents by function needs a native binary, which does not load here/)
  t.notRegex(error.message, /srv|too short/)
  t.deepEqual(logged, [{ reasons }])
  t.is(await run(page), edited)
  t.is(await run(page), edited)
  t.is(loads, 2)
})
