/** Commands that look at a sync or ask a running one to do something. */
import { LaunchError } from '../../../launch/index.js'
import { counted } from '../../../parse/index.js'
import { DEAD_LETTERS, type Mismatch, mismatchesOf } from '../../../transfer/index.js'
import type { CommandOutput } from '../../command/index.js'
import type { SyncContext } from './context.js'

/** Documents that are corrected at once. */
const REPAIR_DOCUMENTS = 1_000

export async function shownFindings({ source, config }: SyncContext, output: CommandOutput): Promise<void> {
  const findings = await source.check()
  for (const { isFatal, problem, remedy } of findings)
    output.line(`${isFatal ? 'needed' : 'advised'}: ${problem}\n    ${remedy}`)
  if (findings.some(({ isFatal }) => isFatal)) output.finding()
  else output.line(`ready to sync ${counted(config.mappings.length, 'index', 'indexes')}`)
}

export async function shownStatus(
  { source, store, target, config }: SyncContext,
  output: CommandOutput,
): Promise<void> {
  const [state, requests, slot] = await Promise.all([store.load(), store.requests(), source.slotFacts()])
  const activity = requests.isPaused ? 'paused' : slot?.isActive ? 'running' : 'not running'
  output.line(`sync ${config.name}: ${activity}`)
  if (slot === null) output.line('slot: none in the database')
  else
    output.line(
      `slot: ${slot.lagBytes} bytes behind, ${slot.retainedBytes} bytes kept${slot.isUsable ? '' : ', not usable: changes were removed'}`,
    )
  if (state !== null) output.line(`progress: ${state.position}, stored ${state.savedAt}`)
  for (const { uid } of config.mappings) {
    const mapping = state?.mappings[uid]
    const detail =
      mapping?.state === 'copying'
        ? `copying, ${mapping.rows} rows so far`
        : mapping?.state === 'broken'
          ? `not updated: ${mapping.reason}`
          : (mapping?.state ?? 'not copied')
    const documents = await target.documents(uid)
    output.line(`index ${uid}: ${detail}${documents === null ? '' : `, ${counted(documents, 'document')}`}`)
  }
  const dead = await target.documents(DEAD_LETTERS)
  if (dead !== null && dead > 0) output.line(`${counted(dead, 'document')} set aside in ${DEAD_LETTERS}`)
  const isBroken = Object.values(state?.mappings ?? {}).some((mapping) => mapping.state === 'broken')
  if (slot === null || !slot.isUsable || isBroken) output.finding()
}

export async function paused({ store }: SyncContext, isPaused: boolean): Promise<void> {
  await store.create()
  await store.request({ ...(await store.requests()), isPaused })
}

export async function resync(
  { store, config, source }: SyncContext,
  uids: readonly string[],
  output: CommandOutput,
): Promise<void> {
  const unknown = uids.find((uid) => !config.mappings.some((mapping) => mapping.uid === uid))
  if (unknown !== undefined) throw new LaunchError(`the configuration has no index \`${unknown}\``, 2)
  await store.create()
  const requests = await store.requests()
  await store.request({ ...requests, resync: [...new Set([...requests.resync, ...uids])] })
  const slot = await source.slotFacts()
  output.line(slot?.isActive ? 'the running sync copies now' : 'the next run copies')
}

interface VerifyOptions {
  readonly isRepair: boolean
  readonly limit: number
}

export async function verified(
  { source, target, config, signal }: SyncContext,
  { isRepair, limit }: VerifyOptions,
  output: CommandOutput,
): Promise<void> {
  if (isRepair && (await source.slotFacts())?.isActive)
    throw new LaunchError('--repair: the sync is running; pause or stop it first', 1)
  let found = 0
  for (const mapping of config.mappings) {
    const { uid } = mapping
    const prepared = await source.prepare(uid)
    if (!prepared.ok) throw new LaunchError(`index \`${uid}\`: ${prepared.reason}`, 1)
    const { facts } = prepared
    const wrong: Mismatch[] = []
    for await (const mismatch of mismatchesOf({ source, target, mapping, facts, signal })) {
      if (++found <= limit) output.line(`index \`${uid}\`: document \`${mismatch.id}\` is ${mismatch.kind}`)
      if (isRepair) wrong.push(mismatch)
      if (wrong.length >= REPAIR_DOCUMENTS) await repaired(wrong.splice(0))
    }
    await repaired(wrong)
    async function repaired(mismatches: readonly Mismatch[]): Promise<void> {
      const expected = mismatches.flatMap((one) => (one.expected === null ? [] : [one.expected]))
      const superfluous = mismatches.filter((one) => one.expected === null).map(({ id }) => id)
      await target.put(uid, facts.primaryKey, expected)
      if (superfluous.length > 0) await target.remove(uid, superfluous)
    }
  }
  output.line(
    found === 0 ? 'no differences' : `${counted(found, 'difference')}${isRepair ? ', repaired' : ''}`,
  )
  if (found > 0 && !isRepair) output.finding()
}
