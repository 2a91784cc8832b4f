import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  boolean,
  defaulted,
  integer,
  isIndexUid,
  optional,
  type RuleCodes,
  requireFreeRuleUid,
  ruleActions,
  ruleConditions,
  setting,
  shape,
  string,
} from '../../operations/index.js'
import {
  listedRules,
  type NewTask,
  type Rule,
  type RulePatch,
  type TaskSummary,
  targetCount,
  targetOf,
  tasksOfRule,
} from '../../tasks/index.js'
import { listedRulePage, searchRule, searchRuleTarget, sendJson } from '../answers/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import { param, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

/** Index uid shown in tasks about rules. Source: the API. */
const RULES_UID = '.meili_dsr'

const codes: RuleCodes = {
  conditions: 'invalid_dynamic_search_rule_conditions',
  contradiction: 'bad_request',
  actions: 'invalid_dynamic_search_rule_actions',
}
const ruleBody = shape({
  description: setting(string, 'invalid_dynamic_search_rule_description'),
  precedence: setting(integer(), 'invalid_dynamic_search_rule_priority'),
  active: setting(boolean, 'invalid_dynamic_search_rule_active'),
  conditions: setting(ruleConditions(codes), codes.conditions),
  actions: setting(ruleActions(codes, true), codes.actions),
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
  showTarget: optional(boolean, 'invalid_dynamic_search_rule_show_target'),
})
const writeParameters = { customMetadata: optional(string, 'invalid_index_custom_metadata') }

/** Dynamic search rules, which pin and scale documents in some searches. Changes are tasks. */
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
      answers: { 200: listedRulePage },
    },
    async ({ reply, body: { offset, limit, filter, showTarget } }) => {
      requireFeature()
      const pending = showTarget === true ? await tasks.pendingRuleTasks() : null
      const rules = tasks.rules()
      const matching = listedRules(rules, filter)
      const page = matching.slice(offset, offset + limit)
      const total = matching.length
      if (pending === null) return sendJson(reply, { results: page.map(view), offset, limit, total })
      const changed = new Set(pending.map(({ ruleUid }) => ruleUid))
      const concerns = ({ uid }: Rule): boolean => changed.has(uid) || changed.has(null)
      return sendJson(reply, {
        results: page.map((rule) => ({ ...view(rule), needsProcessing: concerns(rule) })),
        offset,
        limit,
        total,
        needsProcessing: pending.length > 0,
        taskUids: pending.map(({ uid }) => uid),
        totalRuleCount: rules.all.length,
        targetTotalRuleCount: targetCount(rules, pending),
      })
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
      if (rule === undefined) throw unknownRule(uid)
      return sendJson(reply, view(rule))
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/dynamic-search-rules/:uid/target',
      summary: 'Get a rule and its state after the pending tasks',
      actions: ['dynamicSearchRules.get'],
      answers: { 200: searchRuleTarget },
    },
    async ({ request, reply }) => {
      const uid = param(request, 'uid')
      if (!isIndexUid(uid)) return reply.code(404).send()
      requireFeature()
      const pending = tasksOfRule(uid, await tasks.pendingRuleTasks())
      const rule = tasks.rules().all.find((one) => one.uid === uid)
      if (rule === undefined && pending.length === 0) throw unknownRule(uid)
      return sendJson(reply, {
        current: rule === undefined ? null : view(rule),
        target: targetOf(uid, rule !== undefined, pending),
        needsProcessing: pending.length > 0,
        taskUids: pending.map((task) => task.uid),
      })
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
      requireFreeRuleUid(uid, { path: 'uid', code: 'bad_request' })
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

const unknownRule = (uid: string): ApiError =>
  new ApiError('dynamic_search_rule_not_found', `dynamic search rule \`${uid}\` not found`)

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
    ...(conditions !== undefined && { conditions }),
    ...(actions !== undefined && { actions }),
  }
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
