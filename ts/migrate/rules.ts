import { isDeepStrictEqual } from 'node:util'
import { acceptedTask, finishedTask, type Peer, PeerError } from '../peer/index.js'
import type { PartCopy } from './instance-parts.js'
import { type RuleFacts, rulesOf } from './inventory.js'

/** What a rule does, without the date of its last change. */
const effectOf = ({ lastUpdatedAt: _date, ...effect }: RuleFacts): object => effect

/** Rules of the source that the target lacks, or has in another form. @param target null: it has none */
export function missingRules(
  source: readonly RuleFacts[] | null,
  target: readonly RuleFacts[] | null,
): readonly RuleFacts[] {
  const there = new Map((target ?? []).map((rule) => [rule.uid, effectOf(rule)]))
  return (source ?? []).filter((rule) => !isDeepStrictEqual(effectOf(rule), there.get(rule.uid)))
}

/** Writes the rules that the target lacks or has in another form. Rules of the target alone stay. */
export async function copyRules(to: Peer, source: readonly RuleFacts[] | null): Promise<PartCopy> {
  if (source === null || source.length === 0) return { copied: [], remarks: [] }
  const target = await rulesOf(to)
  if (target === null)
    return {
      copied: [],
      remarks: [
        `${source.length} dynamic search rules are not copied: the target has the feature \`dynamicSearchRules\` off`,
      ],
    }
  const copied: string[] = []
  const remarks: string[] = []
  // Lists begin with the rule that was changed last, and the target's list shall have the same order.
  for (const rule of missingRules(source, target).toReversed()) {
    const { uid, ...fields } = effectOf(rule) as RuleFacts
    // A member that a rule does not show is null. A patch without it would leave what the target has.
    const body = { description: null, precedence: null, ...fields }
    try {
      const task = await to.json<{ taskUid: number }>(
        'PATCH',
        `/dynamic-search-rules/${encodeURIComponent(uid)}`,
        { body, shape: acceptedTask },
      )
      await finishedTask(
        to,
        task,
        `rule \`${uid}\``,
        'change it on the source, or leave rules out by --skip rules',
      )
      copied.push(uid)
    } catch (error) {
      // A rule may have members of a newer version. All others are still of use.
      if (!(error instanceof PeerError) || error.status !== 400) throw error
      remarks.push(`rule \`${uid}\` is not copied: ${error.message}`)
    }
  }
  return { copied, remarks }
}
