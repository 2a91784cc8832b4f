import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import {
  type Caller,
  ChatFailure,
  type CompletionRequest,
  completed,
  completionRequest,
  converse,
  offeredIndexes,
  type Part,
  providerOf,
  requireWorkspaceUid,
  streamed,
  type WorkspaceBook,
  wantedEvents,
} from '../../chats/index.js'
import { ApiError } from '../../errors/index.js'
import { chatCompletion, sendJson } from '../answers/index.js'
import { recordUse } from '../metrics/index.js'
import { type SearchCount, SearchObservation } from '../observation/index.js'
import { type Call, type NoFields, param, serve } from '../operations/index.js'
import { showsFirst } from '../queries/index.js'
import type { RouteServices } from '../route-services.js'
import { disconnectOf, type OnDisconnect } from '../searches/index.js'
import { sendError, sendEvents } from '../transport/index.js'
import { RunningChats } from './running-chats.js'

const actions = ['chatCompletions'] as const
const operation = {
  method: 'POST',
  url: '/chats/:workspace/chat/completions',
  summary: 'Answer a question with a language model that searches',
  actions,
  body: completionRequest,
  answers: { 200: chatCompletion },
} as const

/** Usage reports count chats, not their searches. */
const uncounted: SearchCount<null> = { refused: () => undefined, ended: () => undefined }

type CompletionCall = Call<NoFields, CompletionRequest>

/** Answers questions. Clients of OpenAI can call it. */
export const completionRoutes =
  (book: WorkspaceBook): FastifyPluginAsync<RouteServices> =>
  async (app, services) => {
    const { auth, features, metrics, options, searches } = services
    const running = new RunningChats(options.chatTimes)
    // An open stream would prevent shutdown.
    app.addHook('preClose', async () => running.stop())

    // Clients of OpenAI read errors from a member `error`.
    app.setErrorHandler((error, request, reply) => {
      const failure = error instanceof ChatFailure ? error : null
      sendError(failure?.apiError ?? error, request, reply, ({ message, type, code }) => ({
        error: failure?.fault ?? { message, type, code, param: null },
      }))
    })

    serve(app, services, operation, async (call) => {
      const { request, reply, access, body } = call
      features.require('chatCompletions', 'using chats')
      if (body.n !== 1)
        throw new ApiError(
          'unimplemented_multi_choice_chat_completions',
          `\`.n\` is \`${body.n}\`: only one choice is supported; leave it out`,
        )
      const workspace = requireWorkspaceUid(param(request, 'workspace'))
      const settings = await book.settings(workspace)
      const wanted = wantedEvents(body)

      const { signal, abort, end } = running.begin()
      const counts = { searches: 0, tokens: 0, succeeded: 0 }
      const close = (): void => {
        if (!end()) return
        recordUse(services, request, 'chatCompleted', {
          'requests.total_received': 1,
          'requests.total_succeeded': counts.succeeded,
          'requests.total_streamed': body.stream ? 1 : 0,
          'searches.total_search_count': counts.searches,
          'tokens.total_count': counts.tokens,
          source: [settings.source],
        })
      }
      const clientLeft = new ApiError('bad_request', 'the client disconnected')
      disconnectOf(reply)(() => abort(clientLeft))
      reply.raw.once('close', close)
      if (reply.raw.closed) abort(clientLeft)
      try {
        const indexes = await searches.run(access.holder, onAbort(signal), (stop) =>
          offeredIndexes(services, { access, stop }),
        )
        const parts = converse({
          ...{ services, request: body, events: wanted, settings, indexes, signal },
          caller: callerOf(call, signal, () => {
            counts.searches += 1
          }),
          provider: providerOf(settings, options.openAiKey),
          times: options.chatTimes,
          used(model, usage) {
            counts.tokens += usage.total_tokens
            if (features.flags.metrics) metrics.chats.countTokens(workspace, model, usage)
          },
        })
        const noted = noting(parts, (hasSucceeded) => {
          counts.succeeded = hasSucceeded ? 1 : 0
          close()
        })
        signal.throwIfAborted()
        if (!body.stream) return sendJson(reply, await completed(noted))
        const events = streamed(noted, {
          heartbeatMs: options.chatTimes.heartbeatMs,
          hasLeft: () => signal.reason === clientLeft,
          report: (error) => request.log.error({ err: error }, 'a chat failed'),
        })
        return sendEvents(reply, withHead(reply, events), options.unreadMsMax)
      } catch (error) {
        close()
        throw signal.aborted ? signal.reason : error
      }
    })

    /** Searches with the key of the request, in the queue of all searches. @param count called for each search */
    function callerOf({ request, access }: CompletionCall, signal: AbortSignal, count: () => void): Caller {
      return {
        access: () => auth.require(request.headers.authorization, actions),
        async inTurn(indexUid, wanted, find) {
          count()
          if (features.flags.metrics) metrics.chats.countSearch()
          const { q, filter } = wanted
          const asked = () => [{ indexUid, q, filter, showsFirst: showsFirst(wanted) }]
          const observation = new SearchObservation<null>(services, {
            route: 'chat',
            count: uncounted,
            request,
          })
          observation.asked(null, asked)
          try {
            const answer = await searches.run(access.holder, onAbort(signal), (stop) => {
              observation.began()
              return find(stop)
            })
            observation.answered(answer.facts)
            observation.ended(null)
            return answer
          } catch (error) {
            observation.ended(error instanceof ApiError ? error.code : 'internal')
            throw error
          }
        },
      }
    }
  }

/** Sends the head of the answer before its first event, which can take long. */
async function* withHead(reply: FastifyReply, events: AsyncGenerator<string>): AsyncGenerator<string> {
  reply.raw.flushHeaders()
  yield* events
}

/** Yields the parts. @param ended called once after the last one, or when the reader stops */
async function* noting(
  parts: AsyncGenerator<Part>,
  ended: (hasSucceeded: boolean) => void,
): AsyncGenerator<Part> {
  let hasSucceeded = false
  try {
    yield* parts
    hasSucceeded = true
  } finally {
    ended(hasSucceeded)
  }
}

/** An aborted chat leaves the queue of searches like a client that disconnects. */
const onAbort =
  (signal: AbortSignal): OnDisconnect =>
  (callback) => {
    if (signal.aborted) callback()
    signal.addEventListener('abort', callback, { once: true })
    return () => signal.removeEventListener('abort', callback)
  }
