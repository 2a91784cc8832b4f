import type { Access } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { covered, type Federation, inside, type PositionedQuery } from '../../operations/index.js'
import type { SearchRouteServices } from '../route-services.js'

/**
 * Checks a search whose hits another instance merges. The answer holds the values used to sort the hits and to make
 * them distinct. A key needs the right to read documents if one of these attributes is not displayed.
 * @throws ApiError `invalid_api_key`
 */
export async function requireDisplayed(
  { engine, features, settingsThread, tasks }: SearchRouteServices,
  access: Access,
  queries: readonly PositionedQuery[],
  federation: Federation,
): Promise<void> {
  for (const { query, position } of queries) {
    const { indexUid, sort } = query
    const index = tasks.index(indexUid)
    if (index === null || access.mayRead(indexUid)) continue
    const settings = await engine.settings(index.id)
    const list = async (name: 'displayedAttributes' | 'rankingRules'): Promise<readonly string[]> =>
      JSON.parse(await settingsThread.render(settings, name, features.flags)) as readonly string[]
    const shown = [
      ...sortedBy(sort ?? []),
      ...sortedBy(await list('rankingRules')),
      federation.distinct ?? [],
    ]
    const displayed = await list('displayedAttributes')
    const hidden = shown.flat().find((name) => !covered(displayed, name))
    if (hidden === undefined) continue
    const message = `hits that another instance merges show the values of \`${hidden}\`, which is not displayed: the key of this instance in the network needs the action \`documents.get\` as well`
    throw inside(`.queries[${position}]`, new ApiError('invalid_api_key', message))
  }
}

/** The attributes of criteria such as `year:asc`. */
const sortedBy = (criteria: readonly string[]): readonly string[] =>
  criteria.flatMap((one) => {
    const name = /^(.*):(?:asc|desc)$/s.exec(one)?.[1]
    if (name === undefined) return []
    return name.startsWith('_geoPoint(') ? '_geo' : name
  })
