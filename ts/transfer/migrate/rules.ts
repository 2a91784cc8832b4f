import { isDeepStrictEqual } from 'node:util'
import { acceptedTask, finishedTask, type Peer, PeerError } from '../peer/index.js'
import type { PartCopy } from './instance-parts.js'
import { type RuleFacts, rulesOf } from './inventory.js'

/** Returns a rule without the date of its last change. */
const effectOf = ({ lastUpdatedAt: _date, ...effect }: RuleFacts): object => effect

/** Rules of the source that are missing or different on the target. @param target null: it has none */
export function missingRules(
  source: readonly RuleFacts[] | null,
  target: readonly RuleFacts[] | null,
): readonly RuleFacts[] {
  const there = new Map((target ?? []).map((rule) => [rule.uid, effectOf(rule)]))
  return (source ?? []).filter((rule) => !isDeepStrictEqual(effectOf(rule), there.get(rule.uid)))
}

/** Writes rules that are missing or different on the target. Other rules of the target stay. */
export async function copyRules(to: Peer, source: readonly RuleFacts[] | null): Promise<PartCopy> {
  if (source === null || source.length === 0) return { copied: [], remarks: [] }
  const target = await rulesOf(to)
  if (target === null)
    return {
      copied: [],
      remarks: [
        `${source.length} dynamic search rules are not copied: the feature \`dynamicSearchRules\` is disabled on the target`,
      ],
    }
  const copied: string[] = []
  const remarks: string[] = []
  // Lists are sorted by the last change, newest first. Writing in reverse keeps this order on the target.
  for (const rule of missingRules(source, target).toReversed()) {
    const { uid, ...fields } = effectOf(rule) as RuleFacts
    // An absent member of a rule is null. It is set to null explicitly, since a patch keeps omitted members.
    const body = { description: null, precedence: null, ...fields }
    try {
      const task = await to.json<{ taskUid: number }>(
        'PATCH',
        `/dynamic-search-rules/${encodeURIComponent(uid)}`,
        { body, shape: acceptedTask },
      )
      await finishedTask(to, task, `rule \`${uid}\``, 'change it on the source, or add --skip rules')
      copied.push(uid)
    } catch (error) {
      // The rule may have members of a newer version. The other rules are still copied.
      if (!(error instanceof PeerError) || error.status !== 400) throw error
      remarks.push(`rule \`${uid}\` is not copied: ${error.message}`)
    }
  }
  return { copied, remarks }
}
