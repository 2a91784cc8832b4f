/** The frame around the sections: navigation, key and index. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { AnalyticsSection } from './analytics/section.tsx'
import { ask, storedKey, storeKey } from './api/client.ts'
import type { IndexInfo, Page } from './api/types.ts'
import { ConsoleSection } from './console/section.tsx'
import { useDroppedFiles } from './first/dropped.ts'
import { ImportDialog } from './first/import-dialog.tsx'
import { Gate } from './gate.tsx'
import { HealthSection } from './health/section.tsx'
import { IndexSection } from './indexes/section.tsx'
import { KeysSection } from './keys/section.tsx'
import { Problem } from './parts/basics.tsx'
import { Brand } from './parts/brand.tsx'
import { RulesSection } from './rules/section.tsx'
import { SearchSection } from './search/section.tsx'
import { useLoaded } from './state/loading.ts'
import { addressOf, type Section, sections, usePlace } from './state/route.ts'
import { TasksSection } from './tasks/section.tsx'

const INDEXES_MAX = 1000
/** Interval for polling for a first index, in milliseconds. A command may be creating it. */
const FIRST_INDEX_MS = 2000
const titles: Readonly<Record<Section, string>> = {
  search: 'Search',
  index: 'Index',
  rules: 'Rules',
  analytics: 'Analytics',
  tasks: 'Tasks',
  keys: 'Keys',
  api: 'API',
  health: 'Health',
}

export function App() {
  const place = usePlace()
  const [key, setKey] = useState(storedKey)
  const [isAsking, setIsAsking] = useState(false)
  const [only, setOnly] = useState<string | null>(null)
  /** Files to import, of which the first `imported` are done. A dialog shows the next one. */
  const [files, setFiles] = useState<readonly File[]>([])
  const [imported, setImported] = useState(0)
  const take = useCallback((more: readonly File[]) => setFiles((now) => [...now, ...more]), [])
  const main = useRef<HTMLElement>(null)
  useDroppedFiles(take)
  const list = useLoaded(
    (signal) => ask<Page<IndexInfo>>('GET', `/indexes?limit=${INDEXES_MAX}`, { signal }),
    [key],
  )
  const indexes = only === null ? (list.value?.results ?? []) : [namedIndex(only)]
  const index = indexes.find(({ uid }) => uid === place.index) ?? (place.index ? null : indexes[0]) ?? null
  useEffect(() => {
    document.title = `${titles[place.section]}${index === null ? '' : ` · ${index.uid}`} · siftd`
  }, [place.section, index])

  const navigation = useRef<HTMLElement>(null)
  useEffect(() => {
    navigation.current
      ?.querySelector('[aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [place.section])

  const file = files[imported]
  const isEmpty = list.value?.results.length === 0
  const { reload } = list
  useEffect(() => {
    if (!isEmpty) return
    const timer = setInterval(() => document.hidden || reload(), FIRST_INDEX_MS)
    return () => clearInterval(timer)
  }, [isEmpty, reload])

  const enter = useCallback((given: string, indexUid: string): void => {
    storeKey(given)
    setKey(given)
    setOnly(indexUid || null)
    setIsAsking(false)
  }, [])

  const isRefused = only === null && [401, 403].includes(list.failure?.status ?? 0)
  if (isAsking || isRefused)
    return (
      <Gate
        failure={isAsking || key === '' ? null : list.failure}
        enter={enter}
        leave={isRefused ? null : () => setIsAsking(false)}
      />
    )
  const choose = (uid: string): void => {
    location.hash = addressOf(place.section, uid)
  }
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="bar">
        <Brand />
        <nav class="sections" aria-label="Sections" ref={navigation}>
          {sections.map((section) => (
            <a
              key={section}
              href={addressOf(section, index?.uid ?? null)}
              data-text={titles[section]}
              aria-current={section === place.section ? 'page' : undefined}
            >
              {titles[section]}
            </a>
          ))}
        </nav>
        <button type="button" class="plain" onClick={() => setIsAsking(true)}>
          {key === '' ? 'Key' : 'Change key'}
        </button>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {list.failure !== null && only === null && <Problem failure={list.failure} />}
        {place.section === 'search' && list.value !== null && (
          <SearchSection
            key={`${place.visit} ${isEmpty ? 'empty' : key}`}
            indexes={indexes}
            index={index}
            state={place.state}
            take={take}
          />
        )}
        {place.section === 'search' && list.value === null && only !== null && (
          <SearchSection
            key={`${place.visit} ${key}`}
            indexes={indexes}
            index={index}
            state={place.state}
            take={take}
          />
        )}
        {place.section === 'index' && (list.value !== null || only !== null) && (
          <IndexSection
            indexes={indexes}
            index={index}
            missing={index === null ? place.index : null}
            choose={choose}
            reload={list.reload}
            take={take}
          />
        )}
        {place.section === 'rules' && (
          <RulesSection key={`${place.visit} ${key}`} indexes={indexes} index={index} />
        )}
        {place.section === 'analytics' && <AnalyticsSection key={key} indexes={indexes} />}
        {place.section === 'tasks' && <TasksSection indexes={indexes} />}
        {place.section === 'keys' && <KeysSection key={key} />}
        {place.section === 'api' && <ConsoleSection index={index} />}
        {place.section === 'health' && <HealthSection />}
        {file !== undefined && (
          <ImportDialog
            key={imported}
            file={file}
            waiting={files.length - imported - 1}
            indexes={indexes}
            close={() => setImported(imported + 1)}
            changed={list.reload}
          />
        )}
      </main>
    </>
  )
}

/** Stands in for an index that the key may search but not list. */
const namedIndex = (uid: string): IndexInfo => ({ uid, primaryKey: null, createdAt: '', updatedAt: '' })
