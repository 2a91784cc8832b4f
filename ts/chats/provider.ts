/** Calls of providers: URL, headers and body by source, and the stream of their answers. */
import type { Outbound } from '../outbound/index.js'
import { withoutTrailing } from '../parse/index.js'
import { type Chunk, chunksOf, wholeAnswer } from './chunks.js'
import { callFailure, errorAnswer } from './failure.js'
import { type ChatTimes, WHOLE_ANSWER_BYTES_MAX } from './limits.js'
import type { CompletionRequest, Message } from './request.js'
import type { WorkspaceSettings } from './settings.js'

/** How to reach the provider of a workspace. */
export interface Provider {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly source: WorkspaceSettings['source']
  /** Masked in error messages. */
  readonly secret: string | null
}

const defaultUrls: Readonly<Partial<Record<WorkspaceSettings['source'], string>>> = {
  openAi: 'https://api.openai.com/v1/',
  mistral: 'https://api.mistral.ai/v1/',
}

/** @param openAiKey key of the server, sent to OpenAI alone: a client may have chosen any other URL */
export function providerOf(settings: WorkspaceSettings, openAiKey: string | null): Provider {
  const { source, orgId, projectId, apiVersion, deploymentId } = settings
  const chosen = settings.baseUrl || null
  const base = withoutTrailing(chosen ?? defaultUrls[source] ?? '', '/')
  const secret = settings.apiKey ?? (source === 'openAi' && chosen === null ? openAiKey : null)
  if (source === 'azureOpenAi') {
    const deployment = encodeURIComponent(deploymentId ?? '')
    const version = encodeURIComponent(apiVersion ?? '')
    return {
      source,
      secret,
      url: `${base}/openai/deployments/${deployment}/chat/completions?api-version=${version}`,
      headers: { ...(secret && { 'api-key': secret }) },
    }
  }
  return {
    source,
    secret,
    url: `${base}/chat/completions`,
    headers: {
      ...(secret && { authorization: `Bearer ${secret}` }),
      ...(orgId && { 'openai-organization': orgId }),
      ...(projectId && { 'openai-project': projectId }),
    },
  }
}

/** The parts that a request to the provider has in addition to the request of the client. */
interface Round {
  readonly messages: readonly Message[]
  /** null: the model cannot search. */
  readonly tool: Readonly<Record<string, unknown>> | null
  /** True if a choice of tools by the client applies. */
  readonly isFirst: boolean
  /** True if the model must answer now. */
  readonly isLast: boolean
  /** Tokens that the answer may have; null: no limit. */
  readonly tokensMax: number | null
}

/** Returns the body of a request to the provider. */
export function providerBody(
  { source }: Pick<Provider, 'source'>,
  request: CompletionRequest,
  { messages, tool, isFirst, isLast, tokensMax }: Round,
): string {
  const { tools: _, functions: __, function_call: ___, stream_options: ____, n: _n, ...sent } = request.sent
  const { tool_choice: choice, parallel_tool_calls: parallel, ...others } = sent
  const isOpenAi = source === 'openAi' || source === 'azureOpenAi'
  const asksForUsage = isOpenAi || (source === 'vLlm' && (request.asksForUsage || tokensMax !== null))
  return JSON.stringify({
    ...others,
    ...(tokensMax !== null && limitedTokens(others, isOpenAi, tokensMax)),
    messages,
    stream: true,
    ...(asksForUsage && { stream_options: { include_usage: true } }),
    // Providers refuse choices without tools. A forced call would repeat for ever.
    ...(tool !== null && {
      tools: [tool],
      ...(parallel !== undefined && { parallel_tool_calls: parallel }),
      ...(isLast ? { tool_choice: 'none' } : isFirst && isChoice(choice) && { tool_choice: choice }),
    }),
  })
}

const isChoice = (choice: unknown): boolean => ['none', 'auto', 'required', 'any'].includes(String(choice))

/** Lowers the client's limit of tokens to `tokensMax`. Newer models of OpenAI refuse the older name. */
function limitedTokens(sent: Message, isOpenAi: boolean, tokensMax: number): Message {
  const names = ['max_completion_tokens', 'max_tokens'].filter((name) => typeof sent[name] === 'number')
  if (names.length === 0) return { [isOpenAi ? 'max_completion_tokens' : 'max_tokens']: tokensMax }
  return Object.fromEntries(names.map((name) => [name, Math.min(Number(sent[name]), tokensMax)]))
}

const olderModels = /^(gpt-3\.5|gpt-4|gpt-4\.1|gpt-4\.5|gpt-4o|chatgpt-4o)(-.*)?$/

/** The role of the message with the system prompt. Newer models of OpenAI know `developer`. */
export const systemRole = ({ source }: Pick<Provider, 'source'>, model: string): 'system' | 'developer' =>
  source === 'mistral' || source === 'vLlm' || olderModels.test(model) ? 'system' : 'developer'

/** Sends a request and yields the chunks of the answer; see `chunksOf`. @throws ChatFailure */
export async function* completion(
  outbound: Outbound,
  { url, headers, secret }: Provider,
  body: string,
  { times, signal }: { readonly times: ChatTimes; readonly signal: AbortSignal },
): AsyncGenerator<Chunk | 'done'> {
  try {
    const answer = await outbound.stream({
      method: 'POST',
      url,
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
      body,
      redirects: 'refused',
      beginMs: times.beginMs,
      idleMs: times.idleMs,
      signal,
    })
    try {
      const type = String(answer.headers['content-type'] ?? '')
      if (answer.status < 200 || answer.status > 299)
        throw errorAnswer(answer.status, (await beginning(answer.body)).toString(), secret)
      // Some servers cannot stream, or not with tools.
      if (type.includes('application/json')) yield wholeAnswer(await beginning(answer.body), secret)
      else yield* chunksOf(answer.body, secret)
    } finally {
      answer.discard()
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : callFailure(error)
  }
}

/** Returns at most `WHOLE_ANSWER_BYTES_MAX` bytes, and one chunk more. */
async function beginning(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > WHOLE_ANSWER_BYTES_MAX) break
  }
  return Buffer.concat(chunks)
}
