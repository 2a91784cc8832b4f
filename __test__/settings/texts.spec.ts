import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import test from 'ava'
import { ApiError } from '../../ts/errors/index.js'
import { defaultJsonLimits } from '../../ts/parse/index.js'
import {
  completeSettings,
  defaultIndexSettings,
  mergeSettings,
  parsedSettings,
  type SettingName,
  SettingsThread,
} from '../../ts/settings/index.js'
import { ownSettings } from '../../ts/settings/validate.js'

const features = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }
const request = (name: SettingName | null) => ({ name, limits: defaultJsonLimits, features })
const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** Large enough for the settings thread. */
const synonyms = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`w${i}`, [`v${i}`]]))
const embedders = { mine: { source: 'userProvided', dimensions: 3 } }

/** Bodies of `PATCH /settings`, short and long. */
const bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a word': { stopWords: ['b', 'a', 'b'] },
  'an embedder': { embedders },
  'an embedder among long settings': { synonyms, embedders, searchCutoffMs: 7 },
  'resets of long settings': { synonyms: null, stopWords: Object.keys(synonyms), dictionary: null },
  'names inherited by every object': { synonyms: { ...synonyms, constructor: ['__proto__'] } },
}

for (const [name, body] of Object.entries(bodies)) {
  test(`${name}: settings as text equal settings as objects`, async (t) => {
    const thread = new SettingsThread()
    t.teardown(() => thread.close())
    const { update } = await thread.read(bytes(body), request(null))
    t.deepEqual(Object.keys(JSON.parse(update.details)).sort(), Object.keys(body).sort())
    const stored = {
      ...defaultIndexSettings,
      synonyms: { old: ['new'] },
      embedders: { other: embedders.mine },
    }
    for (const before of [null, stored]) {
      const merged = await thread.merge(before === null ? null : JSON.stringify(before), update.patch)
      const wanted = mergeSettings(before ?? defaultIndexSettings, JSON.parse(update.patch))
      const settings = completeSettings(merged, merged.embedders)
      t.is(settings, JSON.stringify(wanted))
      t.deepEqual(merged.embeddersBefore, before?.embedders ?? {})
      t.is(await thread.render(settings, 'synonyms', features), JSON.stringify(wanted.synonyms))
      t.deepEqual(
        Object.keys(JSON.parse(await thread.render(settings, null, features))),
        Object.keys(defaultIndexSettings).filter((name) => !ownSettings.includes(name as SettingName)),
      )
    }
    t.deepEqual(parsedSettings(completeSettings(await thread.merge(null, '{}'), {})), defaultIndexSettings)
  })
}

test('long settings report the same first mistake as short ones, with its code', async (t) => {
  const thread = new SettingsThread()
  t.teardown(() => thread.close())
  const refusal = (value: unknown, name: SettingName | null) =>
    thread.read(bytes(value), request(name)).then(
      () => 'accepted',
      (error: unknown) => (error instanceof ApiError ? [error.code, error.status, error.message] : error),
    )
  const [code, status, message] = (await refusal({ a: [1] }, 'synonyms')) as unknown[]
  t.deepEqual([code, status], ['invalid_settings_synonyms', 400])
  t.deepEqual(await refusal({ ...synonyms, a: [1] }, 'synonyms'), [code, status, message])
  t.is(((await refusal({ stopWord: Object.keys(synonyms) }, null)) as unknown[])[0], 'bad_request')
  const off = { ...request(null), features: { ...features, foreignKeys: false } }
  const keys = Array.from({ length: 5_000 }, () => ({ foreignIndexUid: 'a', fieldName: 'b' }))
  await t.throwsAsync(thread.read(bytes({ foreignKeys: keys }), off), { code: 'feature_not_enabled' })
})

test('the event loop is not blocked while long settings are read', async (t) => {
  const thread = new SettingsThread()
  t.teardown(() => thread.close())
  let turns = 0
  const reading = thread.read(bytes(synonyms), request('synonyms')).then(() => performance.now())
  for (let isRead = false; !isRead; turns++) {
    void reading.then(() => (isRead = true))
    await turn()
  }
  t.true(turns > 10, `${turns} turns`)
})

test('long settings can be read again after the thread has ended', async (t) => {
  const thread = new SettingsThread()
  t.teardown(() => thread.close())
  const first = await thread.read(bytes(synonyms), request('synonyms'))
  await thread.close()
  t.deepEqual(await thread.read(bytes(synonyms), request('synonyms')), first)
})
