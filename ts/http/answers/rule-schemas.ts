/** Schemas of the answers about dynamic search rules. */
import { namedSchema, orNull } from '../../operations/index.js'
import { count, date, flag, listOf, record, text } from './schemas.js'

const searchRuleFields = {
  uid: text,
  description: text,
  lastUpdatedAt: orNull(date),
  precedence: count,
  active: flag,
  conditions: record(
    {
      time: record({ start: date, end: date }, ['start', 'end']),
      query: record({ isEmpty: flag, words: text }, ['isEmpty', 'words']),
      filter: record({ values: { type: 'object' } }),
    },
    ['time', 'query', 'filter'],
  ),
  actions: record(
    {
      pin: listOf(record({ id: text, position: count, indexUid: text }, ['indexUid'])),
      scale: listOf(
        record(
          {
            weight: { type: 'number', minimum: 0 },
            ids: listOf(text),
            filter: { type: ['string', 'array'] },
            indexUid: text,
          },
          ['ids', 'filter', 'indexUid'],
        ),
      ),
    },
    ['pin', 'scale'],
  ),
}
const inAllRules = ['description', 'precedence']
export const searchRule = namedSchema('DynamicSearchRule', record(searchRuleFields, inAllRules))
export const listedRulePage = record(
  {
    results: listOf(
      record({ ...searchRuleFields, needsProcessing: flag }, [...inAllRules, 'needsProcessing']),
    ),
    offset: count,
    limit: count,
    total: count,
    needsProcessing: flag,
    taskUids: listOf(count),
    totalRuleCount: count,
    targetTotalRuleCount: count,
  },
  ['needsProcessing', 'taskUids', 'totalRuleCount', 'targetTotalRuleCount'],
)
export const searchRuleTarget = namedSchema(
  'DynamicSearchRuleTarget',
  record({
    current: orNull(searchRule),
    target: orNull(
      record(
        { ...searchRuleFields, description: orNull(text), precedence: orNull(count) },
        Object.keys(searchRuleFields).filter((name) => name !== 'uid'),
      ),
    ),
    needsProcessing: flag,
    taskUids: listOf(count),
  }),
)
