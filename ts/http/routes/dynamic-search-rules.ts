import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Action } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { pageOf, searchRule, taskSummary } from '../answers.js'
import { jsonBody } from '../body.js'
import { described } from '../endpoint.js'
import { param, rawQuery } from '../exchange.js'
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
  readQuery,
  refined,
  required,
  setting,
  shape,
  string,
  u32,
} from '../parse/index.js'
import type { RouteServices } from '../services.js'

const moment = refined(string, (text, at) => {
  if (!isRfc3339(text)) throw badValue(`\`${text}\` is not an RFC 3339 date-time`, at)
  return text
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
          shape({ isEmpty: optional(boolean, code.conditions), words: optional(string, code.conditions) }),
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
      filter: optional(shape({ values: required(mapOf(anything), code.conditions) }), code.conditions),
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

/** Dynamic search rules: requests are checked; none can be kept yet. */
export const dynamicSearchRuleRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, options } = services

  app.post(
    '/dynamic-search-rules',
    described({
      method: 'POST',
      url: '/dynamic-search-rules',
      summary: 'List the rules',
      actions: ['dynamicSearchRules.get'],
      body: listBody,
      answers: { 200: pageOf(searchRule) },
    }),
    async (request) => {
      await enter(request, 'dynamicSearchRules.get')
      await jsonBody(request, options.payloadBytesMax, listBody)
      return refuse()
    },
  )

  app.delete(
    '/dynamic-search-rules',
    described({
      method: 'DELETE',
      url: '/dynamic-search-rules',
      summary: 'Delete all rules',
      actions: ['dynamicSearchRules.delete'],
      query: writeParameters,
      answers: { 202: taskSummary },
    }),
    async (request) => {
      await enter(request, 'dynamicSearchRules.delete')
      readQuery(rawQuery(request), writeParameters)
      return refuse()
    },
  )

  app.get(
    '/dynamic-search-rules/:uid',
    described({
      method: 'GET',
      url: '/dynamic-search-rules/:uid',
      summary: 'Get one rule',
      actions: ['dynamicSearchRules.get'],
      answers: { 200: searchRule },
    }),
    async (request, reply) => {
      await enter(request, 'dynamicSearchRules.get')
      if (!isIndexUid(param(request, 'uid'))) return reply.code(404).send()
      return refuse()
    },
  )

  app.patch(
    '/dynamic-search-rules/:uid',
    described({
      method: 'PATCH',
      url: '/dynamic-search-rules/:uid',
      summary: 'Create or change a rule',
      actions: ['dynamicSearchRules.update'],
      query: writeParameters,
      body: ruleBody,
      answers: { 202: taskSummary },
    }),
    async (request, reply) => {
      await enter(request, 'dynamicSearchRules.update')
      readQuery(rawQuery(request), writeParameters)
      await jsonBody(request, options.payloadBytesMax, ruleBody)
      if (!isIndexUid(param(request, 'uid'))) return reply.code(404).send()
      return refuse()
    },
  )

  app.delete(
    '/dynamic-search-rules/:uid',
    described({
      method: 'DELETE',
      url: '/dynamic-search-rules/:uid',
      summary: 'Delete one rule',
      actions: ['dynamicSearchRules.delete'],
      query: writeParameters,
      answers: { 202: taskSummary },
    }),
    async (request, reply) => {
      await enter(request, 'dynamicSearchRules.delete')
      readQuery(rawQuery(request), writeParameters)
      if (!isIndexUid(param(request, 'uid'))) return reply.code(404).send()
      return refuse()
    },
  )

  async function enter(request: FastifyRequest, action: Action): Promise<void> {
    await auth.require(request.headers.authorization, action)
  }

  function refuse(): never {
    features.require('dynamicSearchRules', 'using dynamic search rules')
    throw new ApiError('feature_not_enabled', 'this build has no dynamic search rules')
  }
}
