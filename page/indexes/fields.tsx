/** Fields with their settings and the number of documents that contain them. */
import { useState } from 'preact/hooks'
import { ask, indexPath } from '../api/client.ts'
import type { Field, IndexInfo, IndexStats, Page } from '../api/types.ts'
import { Empty, Meter, Pager, Problem, Scroll } from '../parts/basics.tsx'
import { own } from '../parts/own.ts'
import { count } from '../parts/text.ts'
import { useLoaded } from '../state/loading.ts'

const PAGE_SIZE = 100

export function Fields(props: { readonly index: IndexInfo; readonly stats: IndexStats | null }) {
  const { index, stats } = props
  const [offset, setOffset] = useState(0)
  const path = indexPath(index.uid, '/fields')
  const body = { limit: PAGE_SIZE, offset }
  const fields = useLoaded((signal) => ask<Page<Field>>('POST', path, { body, signal }), [index.uid, offset])
  if (fields.failure !== null) return <Problem failure={fields.failure} />
  const total = fields.value?.total ?? 0
  if (fields.value !== null && total === 0)
    return (
      <Empty title="No field yet">
        <p>Fields appear with the first documents.</p>
      </Empty>
    )
  const documents = stats?.numberOfDocuments ?? 0
  return (
    <>
      <Scroll label="Fields">
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Documents</th>
              {columns.map(([title]) => (
                <th scope="col" class="fit" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {fields.value?.results.map((field) => {
              const held = own(stats?.fieldDistribution, field.name)
              return (
                <tr key={field.name}>
                  <th scope="row" class="wrap">
                    {field.name}
                  </th>
                  <td>
                    {held !== undefined && documents > 0 && (
                      <span class="row">
                        <span class="num">{count(held)}</span>
                        <span class="grow">
                          <Meter
                            value={held / documents}
                            label={`${Math.round((100 * held) / documents)} %`}
                          />
                        </span>
                      </span>
                    )}
                  </td>
                  {columns.map(([title, read]) => (
                    <td class="fit" key={title}>
                      {read(field) ? (
                        <span class="yes">
                          ✓<span class="hidden">yes</span>
                        </span>
                      ) : (
                        <span class="soft">
                          –<span class="hidden">no</span>
                        </span>
                      )}
                    </td>
                  ))}
                </tr>
              )
            })}
          </tbody>
        </table>
      </Scroll>
      {fields.value !== null && <Pager offset={offset} size={PAGE_SIZE} total={total} turn={setOffset} />}
    </>
  )
}

const columns: readonly (readonly [string, (field: Field) => boolean])[] = [
  ['Searchable', ({ searchable }) => searchable.enabled],
  ['Displayed', ({ displayed }) => displayed.enabled],
  ['Filterable', ({ filterable }) => filterable.enabled],
  ['Sortable', ({ sortable }) => sortable.enabled],
]
