/** Tools that change data. They exist only if the operator allows writes. */
import { type Api, type ApiCall, ask, indexPath, type Json, wrongArgument } from '../api.js'
import { ADDED_DOCUMENTS_MAX, WRITE_WAIT_MS } from '../limits.js'
import { filterField, input, objects, output, type Tool, text, uidField } from '../tool.js'
import { refuseOthers, requiredText } from './read.js'

const taskOutput = output({
  taskUid: { type: 'integer' },
  status: { type: 'string' },
  error: { type: ['object', 'null'] },
})
const waits = 'Waits up to 10 s; a task that is still `enqueued` or `processing` can be read with getTask.'

export const addDocuments: Tool = {
  name: 'addDocuments',
  title: 'Add documents',
  description: `Adds documents to an index, which is created if it does not exist. ${waits}`,
  inputSchema: input(
    {
      indexUid: uidField,
      documents: { type: 'array', items: { type: 'object' }, minItems: 1, maxItems: ADDED_DOCUMENTS_MAX },
      primaryKey: text('The attribute with the id, if the index is new'),
      mode: {
        enum: ['replace', 'update'],
        description:
          'Existing documents with the same id: `replace` them (default), or `update` the given attributes',
      },
    },
    ['indexUid', 'documents'],
  ),
  outputSchema: taskOutput,
  actions: [['documents.add']],
  writes: 'adds',
  lists: [],
  shorter: 'read the task with getTask',
  async run({ indexUid, documents, primaryKey, mode = 'replace', ...others }, api, signal) {
    refuseOthers(others, ['indexUid', 'documents', 'primaryKey', 'mode'])
    if (!Array.isArray(documents)) throw wrongArgument('`documents` must be a list of objects')
    if (documents.length > ADDED_DOCUMENTS_MAX)
      throw wrongArgument(
        `\`documents\` has ${documents.length} documents, at most ${ADDED_DOCUMENTS_MAX} are accepted in one call`,
      )
    if (mode !== 'replace' && mode !== 'update') throw wrongArgument('`mode` must be `replace` or `update`')
    const query = new URLSearchParams({
      waitMs: String(WRITE_WAIT_MS),
      ...(primaryKey !== undefined && { primaryKey: requiredText('primaryKey', primaryKey) }),
    })
    return write(api, {
      method: mode === 'replace' ? 'POST' : 'PUT',
      path: indexPath(requiredText('indexUid', indexUid), `/documents?${query}`),
      body: documents,
      signal,
    })
  },
}

export const deleteDocuments: Tool = {
  name: 'deleteDocuments',
  title: 'Delete documents',
  description: `Deletes the documents with these ids, or those that pass a filter; give one of both. ${waits}`,
  inputSchema: input(
    {
      indexUid: uidField,
      ids: { type: 'array', items: { type: ['string', 'integer'] }, minItems: 1 },
      filter: filterField,
    },
    ['indexUid'],
  ),
  outputSchema: taskOutput,
  actions: [['documents.delete']],
  writes: 'changes',
  lists: [],
  shorter: 'read the task with getTask',
  async run({ indexUid, ids, filter, ...others }, api, signal) {
    refuseOthers(others, ['indexUid', 'ids', 'filter'])
    if ((ids === undefined) === (filter === undefined))
      throw wrongArgument('give either `ids` or `filter`, not both')
    const [route, body] = ids === undefined ? ['delete', { filter }] : ['delete-batch', ids]
    const path = indexPath(requiredText('indexUid', indexUid), `/documents/${route}?waitMs=${WRITE_WAIT_MS}`)
    return write(api, { method: 'POST', path, body, signal })
  },
}

export const updateSettings: Tool = {
  name: 'updateSettings',
  title: 'Change settings',
  description: `Changes settings of an index, such as {"filterableAttributes": ["genres"]}. Without \`dryRun\`: false nothing \
changes, and the answer shows the changes and their cost. Show them to the user before you apply them. ${waits}`,
  inputSchema: input(
    {
      indexUid: uidField,
      settings: { type: 'object', description: 'As the body of PATCH /indexes/{uid}/settings' },
      dryRun: { type: 'boolean', description: 'true (default): only shows the changes. false: applies them' },
    },
    ['indexUid', 'settings'],
  ),
  outputSchema: output({ changes: objects, taskUid: { type: 'integer' }, status: { type: 'string' } }),
  actions: [['settings.update']],
  writes: 'changes',
  lists: ['changes'],
  shorter: 'change fewer settings at once',
  async run({ indexUid, settings, dryRun = true, ...others }, api, signal) {
    refuseOthers(others, ['indexUid', 'settings', 'dryRun'])
    if (typeof dryRun !== 'boolean') throw wrongArgument('`dryRun` must be true or false')
    const query = dryRun ? 'dryRun=true' : `waitMs=${WRITE_WAIT_MS}`
    const path = indexPath(requiredText('indexUid', indexUid), `/settings?${query}`)
    return write(api, { method: 'PATCH', path, body: settings ?? {}, signal })
  },
}

export const getTask: Tool = {
  name: 'getTask',
  title: 'Read a task',
  description:
    'Returns the state of a write: `status` succeeded, failed (with `error`), enqueued or processing.',
  inputSchema: input({ taskUid: { type: 'integer', minimum: 0 } }, ['taskUid']),
  outputSchema: output({ status: { type: 'string' } }),
  actions: [['tasks.get']],
  writes: 'never',
  lists: [],
  shorter: 'read the task over HTTP',
  async run({ taskUid, ...others }, api, signal) {
    refuseOthers(others, ['taskUid'])
    if (!Number.isSafeInteger(taskUid) || Number(taskUid) < 0)
      throw wrongArgument('`taskUid` must be the number of a task')
    return ask(api, { method: 'GET', path: `/tasks/${taskUid}?waitMs=${WRITE_WAIT_MS}`, signal })
  },
}

/** Enqueues a write. A failed task is an answer, with the error of the task. */
const write = (api: Api, call: ApiCall): Promise<Json> => ask(api, call)
