/** Scores documents with a model that runs in this process. */
import { LateModelError, ModelError, type ModelName, type Models } from '../embedding/index.js'
import { ApiError } from '../errors/index.js'
import { type RerankerFields, rerankerDefaults } from '../settings/index.js'
import type { RankedDocument } from './call.js'
import { abandoned, RerankError } from './rerank-error.js'

interface LocalRanking {
  readonly fields: RerankerFields
  readonly query: string
  readonly documents: readonly string[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Returns the scores of all documents, in the order of `documents`. After the time limit the model stops soon.
 * @throws RerankError
 */
export async function scoreLocally(
  models: Models,
  { fields, query, documents, timeoutMs, signal }: LocalRanking,
): Promise<readonly RankedDocument[]> {
  const name = nameOf(fields)
  const deadline = performance.now() + timeoutMs
  try {
    const scores = await models.scores(name, { query, documents }, { deadline, signal })
    return Array.from(scores, (score, index) => ({ index, score }))
  } catch (error) {
    if (signal.aborted) throw abandoned()
    if (error instanceof LateModelError) {
      const what = error.isLoaded ? 'did not answer' : 'was not loaded'
      throw new RerankError('timeout', `the model \`${name.model}\` ${what} within ${timeoutMs} ms`)
    }
    if (error instanceof ModelError) throw new RerankError('model', error.message)
    throw error
  }
}

/**
 * Loads the models of rerankers, and has each score a document. Downloads missing models.
 * @throws ApiError `invalid_settings_rerankers` for a model that cannot be used, or the reason of `signal`
 */
export async function requireModels(
  models: Models,
  rerankers: Readonly<Record<string, RerankerFields>>,
  signal: AbortSignal,
): Promise<void> {
  for (const [name, fields] of Object.entries(rerankers)) {
    try {
      await models.scores(nameOf(fields), { query: 'test', documents: ['test'] }, { signal })
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      throw new ApiError('invalid_settings_rerankers', `\`.rerankers.${name}\`: ${error.message}`)
    }
  }
}

const nameOf = ({ model, revision }: RerankerFields): ModelName => ({
  model: model ?? rerankerDefaults.huggingFace.model ?? '',
  revision: revision ?? null,
})
