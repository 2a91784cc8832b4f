/** Tasks and batches, live. */
import { useState } from 'preact/hooks'
import type { IndexInfo } from '../api/types.ts'
import { Tabs } from '../parts/basics.tsx'
import { Batches } from './batches.tsx'
import { TaskList } from './list.tsx'

const tabs = [
  { name: 'tasks', text: 'Tasks' },
  { name: 'batches', text: 'Batches' },
] as const

export function TasksSection({ indexes }: { readonly indexes: readonly IndexInfo[] }) {
  const [tab, setTab] = useState<(typeof tabs)[number]['name']>('tasks')
  return (
    <>
      <h1 class="hidden">Tasks</h1>
      <Tabs label="Tasks and batches" tabs={tabs} chosen={tab} choose={setTab}>
        {tab === 'tasks' ? <TaskList indexes={indexes} /> : <Batches />}
      </Tabs>
    </>
  )
}
