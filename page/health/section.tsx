/** Health: state of the server, disk use, memory use, and damaged files. */
import { useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import type { Stats } from '../api/types.ts'
import { Parts, Problem, Scroll } from '../parts/basics.tsx'
import { bytes, count, plural, when } from '../parts/text.ts'
import { asFailure, useLoaded, usePolled } from '../state/loading.ts'
import { MemoryView } from './memory.tsx'

const EVERY_MS = 5000

interface Version {
  readonly pkgVersion: string
  readonly commitSha: string
}

interface Finding {
  readonly indexUid: string | null
  readonly file: string
  readonly problem: string
  readonly cost: string
  readonly isHarmful: boolean
}

export function HealthSection() {
  const health = usePolled((signal) => ask('GET', '/health', { signal }), [], EVERY_MS)
  const version = useLoaded((signal) => ask<Version>('GET', '/version', { signal }), [])
  const stats = usePolled(
    (signal) => ask<Stats>('GET', '/stats?showInternalDatabaseSizes=true', { signal }),
    [],
    EVERY_MS,
  )
  const indexes = Object.entries(stats.value?.indexes ?? {})
  const documents = indexes.reduce((sum, [, index]) => sum + index.numberOfDocuments, 0)
  return (
    <div class="stack health">
      <h1>
        <span class={health.failure === null ? 'dot' : 'dot off'} aria-hidden="true" />{' '}
        {health.failure === null ? 'The server answers' : 'The server does not answer'}
      </h1>
      <dl class="figures">
        <Figure name="Version" value={version.value?.pkgVersion ?? '–'} />
        <Figure name="On disk" value={stats.value === null ? '–' : bytes(stats.value.databaseSize)} />
        <Figure name="Indexes" value={stats.value === null ? '–' : count(indexes.length)} />
        <Figure name="Documents" value={stats.value === null ? '–' : count(documents)} />
      </dl>
      {stats.value?.lastUpdate && <p class="soft small">Last change {when(stats.value.lastUpdate)}</p>}
      {stats.failure !== null && <Problem failure={stats.failure} />}
      {Object.entries(stats.value?.damagedIndexes ?? {}).map(([uid, damage]) => (
        <Problem key={uid} failure={{ code: '', message: `Index ${uid} is damaged: ${damage}` }} />
      ))}
      {stats.value !== null && <Disk stats={stats.value} />}
      <MemoryView />
      <Verification />
    </div>
  )
}

const Figure = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

/** Number of indexes that the bar shows separately. */
const INDEXES_MAX = 12

function Disk({ stats }: { readonly stats: Stats }) {
  const indexes = Object.entries(stats.indexes).sort(([, a], [, b]) => b.indexSize - a.indexSize)
  const inIndexes = indexes.reduce((sum, [, { indexSize }]) => sum + indexSize, 0)
  const rest = Math.max(0, stats.databaseSize - inIndexes)
  const parts = [
    ...indexes
      .slice(0, 5)
      .map(([uid, { indexSize }]) => ({ name: uid, value: indexSize, text: bytes(indexSize) })),
    { name: 'tasks and the rest', value: rest, text: bytes(rest) },
  ]
  return (
    <section class="stack">
      <h2>Disk</h2>
      <Parts label="Disk by index" parts={parts} />
      <Scroll label="Disk by index">
        <table>
          <thead>
            <tr>
              <th scope="col">Index</th>
              <th scope="col" class="num">
                Documents
              </th>
              <th scope="col" class="num">
                Stored documents
              </th>
              <th scope="col" class="num">
                Words, columns, vectors
              </th>
              <th scope="col" class="num">
                In all
              </th>
            </tr>
          </thead>
          <tbody>
            {indexes.slice(0, INDEXES_MAX).map(([uid, index]) => (
              <tr key={uid}>
                <th scope="row" class="wrap">
                  {uid}
                </th>
                <td class="num">{count(index.numberOfDocuments)}</td>
                <td class="num">{bytes(index.internalDatabaseSizes?.documents ?? 0)}</td>
                <td class="num">{bytes(index.internalDatabaseSizes?.index ?? 0)}</td>
                <td class="num">{bytes(index.indexSize)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {indexes.length > INDEXES_MAX && (
        <p class="small soft">and {indexes.length - INDEXES_MAX} smaller ones</p>
      )}
    </section>
  )
}

function Verification() {
  const [findings, setFindings] = useState<readonly Finding[] | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [isReading, setIsReading] = useState(false)
  const verify = async (): Promise<void> => {
    setIsReading(true)
    setFailure(null)
    try {
      setFindings((await ask<{ findings: readonly Finding[] }>('GET', '/verify')).findings)
    } catch (error) {
      setFailure(asFailure(error))
    }
    setIsReading(false)
  }
  return (
    <section class="stack">
      <h2>Files</h2>
      <div class="row">
        <button type="button" disabled={isReading} onClick={verify}>
          Verify every file
        </button>
        <span role="status" class="soft small">
          {isReading && 'Reading everything …'}
          {!isReading && findings?.length === 0 && 'All files are intact.'}
          {!isReading && findings !== null && findings.length > 0 && plural(findings.length, 'finding')}
        </span>
      </div>
      {failure !== null && <Problem failure={failure} />}
      {findings?.map(({ file, problem, cost }) => (
        <Problem key={file} failure={{ code: '', message: `${file}: ${problem}. ${cost}` }} />
      ))}
    </section>
  )
}
