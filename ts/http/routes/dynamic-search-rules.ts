import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  anything,
  badValue,
  boolean,
  defaulted,
  documentId,
  indexUid,
  integer,
  isIndexUid,
  isRfc3339,
  list,
  mapOf,
  oneOf,
  optional,
  refined,
  required,
  setting,
  shape,
  string,
  u32,
} from '../../operations/index.js'
import type { NewTask, TaskSummary } from '../../tasks/index.js'
import {
  type Action,
  areValuesTooLong,
  areWordsTooLong,
  type Conditions,
  listedRules,
  type Rule,
  type RulePatch,
  TEXT_CHARS_MAX,
  VALUES_CHARS_MAX,
} from '../../tasks/index.js'
import { pageOf, searchRule, sendJson } from '../answers/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import { param, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

/** Index uid shown in tasks about rules. Source: the API. */
const RULES_UID = '.meili_dsr'

const moment = refined(string, (text, at) => {
  if (!isRfc3339(text)) throw badValue(`\`${text}\` is not an RFC 3339 date-time`, at)
  return text
})
const words = refined(string, (text, at) => {
  if (areWordsTooLong(text))
    throw badValue(`the words have ${text.length} characters, the most are ${TEXT_CHARS_MAX}`, at)
  return text
})
const values = refined(mapOf(anything), (entries, at) => {
  if (areValuesTooLong(Object.fromEntries(entries)))
    throw badValue(`the values have more than ${VALUES_CHARS_MAX} characters as JSON`, at)
  return entries
})
const code = {
  conditions: 'invalid_dynamic_search_rule_conditions',
  actions: 'invalid_dynamic_search_rule_actions',
} as const
const ruleBody = shape({
  description: setting(string, 'invalid_dynamic_search_rule_description'),
  precedence: setting(integer(), 'invalid_dynamic_search_rule_priority'),
  active: setting(boolean, 'invalid_dynamic_search_rule_active'),
  conditions: setting(
    shape({
      time: optional(
        refined(
          shape({ start: optional(moment, code.conditions), end: optional(moment, code.conditions) }),
          (time) => {
            if (time.start !== null && time.end !== null && Date.parse(time.start) > Date.parse(time.end)) {
              throw new ApiError(
                'bad_request',
                `the time ends (${time.end}) before it starts (${time.start})`,
              )
            }
            return time
          },
        ),
        code.conditions,
      ),
      query: optional(
        refined(
          shape({ isEmpty: optional(boolean, code.conditions), words: optional(words, code.conditions) }),
          (query) => {
            if (query.isEmpty === true && query.words !== null) {
              throw new ApiError(
                'bad_request',
                `an empty query has no words, but \`${query.words}\` was given`,
              )
            }
            return query
          },
        ),
        code.conditions,
      ),
      filter: optional(shape({ values: required(values, code.conditions) }), code.conditions),
    }),
    code.conditions,
  ),
  actions: setting(
    list(
      shape({
        selector: required(
          shape({ indexUid: optional(indexUid, code.actions), id: required(documentId, code.actions) }),
          code.actions,
        ),
        action: required(
          shape({ type: required(oneOf(['pin']), code.actions), position: required(u32, code.actions) }),
          code.actions,
        ),
      }),
    ),
    code.actions,
  ),
})
type RuleBody = ReturnType<typeof ruleBody.json>
const listBody = shape({
  offset: defaulted(integer(), 0, 'invalid_dynamic_search_rule_offset'),
  limit: defaulted(integer(), 20, 'invalid_dynamic_search_rule_limit'),
  filter: optional(
    shape({
      query: optional(string, 'invalid_dynamic_search_rule_filter_query'),
      active: optional(boolean, 'invalid_dynamic_search_rule_filter_active'),
    }),
    'invalid_dynamic_search_rule_filter',
  ),
})
const writeParameters = { customMetadata: optional(string, 'invalid_index_custom_metadata') }

/** Dynamic search rules, which pin documents to positions in some searches. Changes are tasks. */
export const dynamicSearchRuleRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { features, tasks } = services

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/dynamic-search-rules',
      summary: 'List the rules',
      actions: ['dynamicSearchRules.get'],
      body: listBody,
      answers: { 200: pageOf(searchRule) },
    },
    ({ reply, body: { offset, limit, filter } }) => {
      requireFeature()
      const matching = listedRules(tasks.rules(), filter)
      const results = matching.slice(offset, offset + limit).map(view)
      return sendJson(reply, { results, offset, limit, total: matching.length })
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'DELETE',
      url: '/dynamic-search-rules',
      summary: 'Delete all rules',
      actions: ['dynamicSearchRules.delete'],
      query: writeParameters,
    },
    async ({ request, query }) => {
      requireFeature()
      recordUse(services, request, 'searchRulesDeleted', {})
      return enqueue({ type: 'dsrClear', content: { kind: 'dsrClear' } }, query.customMetadata)
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/dynamic-search-rules/:uid',
      summary: 'Get one rule',
      actions: ['dynamicSearchRules.get'],
      answers: { 200: searchRule },
    },
    ({ request, reply }) => {
      const uid = param(request, 'uid')
      if (!isIndexUid(uid)) return reply.code(404).send()
      requireFeature()
      const rule = tasks.rules().all.find((one) => one.uid === uid)
      if (rule === undefined) {
        throw new ApiError('dynamic_search_rule_not_found', `dynamic search rule \`${uid}\` not found`)
      }
      return sendJson(reply, view(rule))
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'PATCH',
      url: '/dynamic-search-rules/:uid',
      summary: 'Create or change a rule',
      actions: ['dynamicSearchRules.update'],
      query: writeParameters,
      body: ruleBody,
    },
    async ({ request, query, body }) => {
      const uid = param(request, 'uid')
      if (!isIndexUid(uid)) return null
      requireFeature()
      recordUse(services, request, 'searchRulesChanged', {})
      return enqueue(updateOf(uid, changeOf(body)), query.customMetadata)
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'DELETE',
      url: '/dynamic-search-rules/:uid',
      summary: 'Delete one rule',
      actions: ['dynamicSearchRules.delete'],
      query: writeParameters,
    },
    async ({ request, query }) => {
      const uid = param(request, 'uid')
      if (!isIndexUid(uid)) return null
      requireFeature()
      recordUse(services, request, 'searchRulesDeleted', {})
      return enqueue(updateOf(uid, null), query.customMetadata)
    },
  )

  function requireFeature(): void {
    features.require('dynamicSearchRules', 'using dynamic search rules')
  }

  function enqueue(
    task: Pick<NewTask, 'type' | 'content'>,
    customMetadata: string | null,
  ): Promise<TaskSummary> {
    const metadata = customMetadata ?? undefined
    return tasks.enqueue({ ...task, indexUid: RULES_UID, customMetadata: metadata })
  }
}

const updateOf = (uid: string, patch: RulePatch | null): Pick<NewTask, 'type' | 'content'> => ({
  type: 'dsrUpdate',
  content: { kind: 'dsrUpdate', uid, patch },
})

/** Returns the change in a body: only the sent members, in the order of answers. */
function changeOf(body: RuleBody): RulePatch {
  const { description, precedence, active, conditions, actions } = body
  return {
    ...(description !== undefined && { description }),
    ...(precedence !== undefined && { precedence }),
    ...(active !== undefined && { active }),
    ...(conditions !== undefined && { conditions: conditions === null ? null : conditionsOf(conditions) }),
    ...(actions !== undefined && { actions: actions?.map(actionOf) ?? null }),
  }
}

function conditionsOf({ time, query, filter }: NonNullable<RuleBody['conditions']>): Conditions {
  return {
    ...(time !== null && { time: withoutNulls(time) }),
    ...(query !== null && { query: withoutNulls(query) }),
    ...(filter !== null && { filter: { values: Object.fromEntries(filter.values) } }),
  }
}

function actionOf({ selector, action }: NonNullable<RuleBody['actions']>[number]): Action {
  const { type, position } = action
  return {
    selector: { ...withoutNulls({ indexUid: selector.indexUid }), id: selector.id },
    action: { type, position },
  }
}

/** Returns the object without its null members. */
function withoutNulls<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }
}

function view({ uid, description, lastUpdatedAt, precedence, active, conditions, actions }: Rule): object {
  return {
    uid,
    ...(description !== null && { description }),
    lastUpdatedAt,
    ...(precedence !== null && { precedence }),
    active,
    conditions,
    actions,
  }
}
