/** Tests the effects of the options for local models. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHub } from '../../models/hub-server.js'
import { madeModel } from '../../models/tiny-model.js'
import { startDaemon } from '../../support/daemon.js'
import { modelRuntime } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

testNeeding([modelRuntime])(
  'local models use the hub, token, folder and threads of the options',
  async (t) => {
    const hub = await startHub(t, madeModel('bert').files)
    const directory = await mkdtemp(join(tmpdir(), 'siftd-models-'))
    t.teardown(() => rm(directory, { recursive: true, force: true }))
    const models = join(directory, 'my-models')
    const options = ['--models-dir', models, '--max-embedding-threads', '2', '--engine', 'fallback']
    const { call, log, pid, stop } = await startDaemon(
      t,
      join(directory, 'data.ms'),
      [...options, '--experimental-allowed-ip-networks', '127.0.0.0/8'],
      { SVC_MODEL_HUB_URL: hub.url, SVC_MODEL_HUB_TOKEN: 'hf_of-the-test' },
    )
    const embedders = { local: { source: 'huggingFace', model: 'org/tiny' } }
    const { body } = await call('PATCH', '/indexes/i/settings', { embedders })
    for (let status = ''; status !== 'succeeded'; ) {
      const task = (await call('GET', `/tasks/${body.taskUid}`)).body
      if (task.status === 'failed') return t.fail(JSON.stringify(task.error))
      status = task.status
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    t.is(hub.asked('/config.json')[0]?.authorization, 'Bearer hf_of-the-test')
    t.true((await readdir(join(models, 'hub', 'org--tiny', 'main'))).includes('model.safetensors'))
    t.regex(log(), /downloading model.safetensors of org\/tiny/)
    if (process.platform === 'linux') {
      const threads = await readdir(`/proc/${pid}/task`)
      const names = await Promise.all(
        threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/comm`, 'utf8').catch(() => '')),
      )
      t.is(names.filter((name) => /^embed-\d/.test(name)).length, Math.min(2, availableParallelism()))
      t.is(names.filter((name) => name.startsWith('candle')).length, 0)
    }
    t.is(await stop(), 0)
  },
)
