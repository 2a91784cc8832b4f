/** Less common settings of a lane. */
import { ask, indexPath } from '../api/client.ts'
import type { Field } from '../api/types.ts'
import { useLoaded } from '../state/loading.ts'
import type { Lane } from './lane.ts'

export function LaneSettings(props: {
  readonly lane: Lane
  readonly change: (changes: Partial<Lane>) => void
  readonly fields: readonly Field[]
}) {
  const { lane, change, fields } = props
  const path = indexPath(lane.index, '/settings/embedders')
  const embedders = useLoaded((signal) => ask<Record<string, unknown>>('GET', path, { signal }), [lane.index])
  const names = Object.keys(embedders.value ?? {})
  return (
    <div class="more pair">
      <label class="field">
        Query for this search only
        <input
          value={lane.ownQuery ?? ''}
          placeholder="As above"
          onInput={(event) => change({ ownQuery: event.currentTarget.value || null })}
        />
      </label>
      <label class="field">
        Words that must match
        <select
          value={lane.strategy}
          onChange={(event) => change({ strategy: event.currentTarget.value as Lane['strategy'] })}
        >
          <option value="">From the settings</option>
          <option value="last">Last words are optional</option>
          <option value="frequency">Frequent words are optional</option>
          <option value="all">All</option>
          <option value="any">Any one</option>
        </select>
      </label>
      <label class="field">
        Search in (comma-separated)
        <input
          value={lane.searchOn}
          placeholder="All searchable"
          onChange={(event) => change({ searchOn: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        One hit per value of
        <select value={lane.distinct} onChange={(event) => change({ distinct: event.currentTarget.value })}>
          <option value="">From the settings</option>
          {fields
            .filter((field) => field.filterable.enabled)
            .map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
        </select>
      </label>
      <label class="field">
        Lowest score, {lane.threshold.toFixed(2)}
        <input
          type="range"
          min="0"
          max="1"
          step="0.05"
          value={lane.threshold}
          onChange={(event) => change({ threshold: Number(event.currentTarget.value) })}
        />
      </label>
      <label class="field">
        Embedder
        <select
          value={lane.embedder}
          disabled={names.length === 0}
          onChange={(event) => change({ embedder: event.currentTarget.value })}
        >
          <option value="">{names.length === 0 ? 'The index has none' : 'None: only words'}</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {lane.embedder !== '' && (
        <label class="field">
          Meaning counts {Math.round(lane.ratio * 100)} %
          <input
            type="range"
            min="0"
            max="1"
            step="0.05"
            value={lane.ratio}
            onChange={(event) => change({ ratio: Number(event.currentTarget.value) })}
          />
        </label>
      )}
    </div>
  )
}
