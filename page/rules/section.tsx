/** Rules: a list of the dynamic search rules, and an editor with a preview. */
import { useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import type { IndexInfo, Page } from '../api/types.ts'
import { Dialog, Empty, Pager, Problem, Scroll } from '../parts/basics.tsx'
import { asFailure, useLoaded } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'
import { RuleEditor } from './editor.tsx'
import { actionsInWords, conditionsInWords, newRule, type Rule } from './rule.ts'

const PAGE_SIZE = 50
const TYPING_MS = 200

const rulePath = (uid: string): string => `/dynamic-search-rules/${encodeURIComponent(uid)}`

/** Asks for the feature first, since a refused request would be in the log of the server every time. */
async function loadRules(body: unknown, signal: AbortSignal): Promise<Page<Rule> | 'off'> {
  const features = await ask<{ readonly dynamicSearchRules: boolean }>('GET', '/experimental-features', {
    signal,
  })
  return features.dynamicSearchRules
    ? ask<Page<Rule>>('POST', '/dynamic-search-rules', { body, signal })
    : 'off'
}

export function RulesSection(props: {
  readonly indexes: readonly IndexInfo[]
  readonly index: IndexInfo | null
}) {
  const { indexes, index } = props
  const [needle, setNeedle] = useState('')
  const [offset, setOffset] = useState(0)
  const [open, setOpen] = useState<Rule | null>(null)
  const [deleted, setDeleted] = useState<Rule | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const body = {
    offset,
    limit: PAGE_SIZE,
    ...(needle.trim() !== '' && { filter: { query: needle.trim() } }),
  }
  const rules = useLoaded((signal) => loadRules(body, signal), [JSON.stringify(body)], TYPING_MS)
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setFailure(null)
    try {
      await work()
      rules.reload()
    } catch (error) {
      setFailure(asFailure(error))
    }
  }
  if (rules.value === 'off')
    return (
      <Empty title="Rules are switched off">
        <p>Rules pin documents to positions, raise, lower or hide them, in searches that you choose.</p>
        <div class="row">
          <button
            type="button"
            class="main"
            onClick={() =>
              run(() => ask('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } }))
            }
          >
            Switch rules on
          </button>
        </div>
        {failure !== null && <Problem failure={failure} />}
      </Empty>
    )
  if (open !== null)
    return (
      <RuleEditor
        key={open.uid}
        rule={open}
        indexes={indexes}
        index={index}
        close={() => setOpen(null)}
        saved={() => {
          setOpen(null)
          rules.reload()
        }}
      />
    )
  const results = rules.value?.results ?? []
  const total = rules.value?.total ?? 0
  return (
    <div class="stack">
      <div class="row">
        <h1 class="grow">Rules</h1>
        <input
          type="search"
          class="picker"
          aria-label="Find a rule"
          placeholder="Find a rule"
          value={needle}
          onInput={(event) => {
            setNeedle(event.currentTarget.value)
            setOffset(0)
          }}
        />
        <button type="button" class="main" disabled={rules.value === null} onClick={() => setOpen(newRule)}>
          New rule
        </button>
      </div>
      {(failure ?? rules.failure) !== null && <Problem failure={(failure ?? rules.failure)!} />}
      {rules.value !== null && results.length === 0 && (
        <Empty title={needle.trim() === '' ? 'No rule yet' : 'No rule has these words'}>
          <p>
            A rule pins documents, or raises, lowers and hides them, in searches that meet its conditions.
          </p>
        </Empty>
      )}
      {results.length > 0 && (
        <Scroll label="Rules">
          <table class="rules">
            <thead>
              <tr>
                <th scope="col">Rule</th>
                <th scope="col">Acts in</th>
                <th scope="col">What it does</th>
                <th scope="col" class="num">
                  Precedence
                </th>
                <th scope="col">Active</th>
                <th scope="col">
                  <span class="hidden">Change</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {results.map((rule) => (
                <tr key={rule.uid}>
                  <th scope="row" class="wrap">
                    {rule.uid}
                    {rule.description !== null && <div class="small soft">{rule.description}</div>}
                  </th>
                  <td class="wrap">{conditionsInWords(rule.conditions)}</td>
                  <td class="wrap">{actionsInWords(rule.actions)}</td>
                  <td class="num">{rule.precedence ?? '–'}</td>
                  <td>
                    <input
                      type="checkbox"
                      class="switch"
                      aria-label={`Active: ${rule.uid}`}
                      checked={rule.active}
                      onChange={() =>
                        run(() =>
                          settle(ask('PATCH', rulePath(rule.uid), { body: { active: !rule.active } })),
                        )
                      }
                    />
                  </td>
                  <td class="fit">
                    <button type="button" class="plain" onClick={() => setOpen(rule)}>
                      Edit<span class="hidden"> {rule.uid}</span>
                    </button>
                    <button type="button" class="plain danger" onClick={() => setDeleted(rule)}>
                      Delete<span class="hidden"> {rule.uid}</span>
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {rules.value !== null && <Pager offset={offset} size={PAGE_SIZE} total={total} turn={setOffset} />}
      {deleted !== null && (
        <Dialog title={`Delete ${deleted.uid}?`} close={() => setDeleted(null)}>
          <p>Searches are then as without this rule.</p>
          <div class="row">
            <button
              type="button"
              class="danger"
              onClick={() => {
                setDeleted(null)
                run(() => settle(ask('DELETE', rulePath(deleted.uid))))
              }}
            >
              Delete the rule
            </button>
          </div>
        </Dialog>
      )}
    </div>
  )
}
