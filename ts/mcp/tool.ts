import type { Api, Json } from './api.js'

/** A JSON Schema of an object. */
interface ObjectSchema {
  readonly type: 'object'
  readonly properties?: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
}

/** A tool that an agent can call. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
  /** A key needs all actions of one of these lists to see the tool. The routes check them again. */
  readonly actions: readonly (readonly string[])[]
  readonly writes: 'never' | 'adds' | 'changes'
  /** Members of the answer that may be cut, by path, such as `results.hits`. */
  readonly lists: readonly string[]
  /** Advice to an agent on how to get a shorter answer. */
  readonly shorter: string
  /** @throws ToolError */
  run(args: Json, api: Api, signal: AbortSignal | undefined): Promise<Json>
}

/** Returns true if the key of the caller may use the tool. */
export async function mayUse({ actions }: Tool, api: Api): Promise<boolean> {
  for (const all of actions) {
    const allowed = await Promise.all(all.map((action) => api.allows(action)))
    if (!allowed.includes(false)) return true
  }
  return false
}

export const input = (
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): ObjectSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/** An object with these members, among others. */
export const output = (properties: Readonly<Record<string, object>>): ObjectSchema => ({
  type: 'object',
  properties,
})

export const text = (description: string) => ({ type: 'string', description })
export const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description })
export const whole = (description: string, maximum?: number) => ({
  type: 'integer',
  minimum: 0,
  ...(maximum !== undefined && { maximum }),
  description,
})
export const objects = { type: 'array', items: { type: 'object' } }
export const uidField = text('The uid of an index, as listIndexes gives it')
/** Explains filters to a model. */
export const filterSyntax =
  'Such as `genres = "Drama" AND year >= 1990`. Operators: = != > >= < <= TO IN […] EXISTS, IS NULL, IS EMPTY, joined by ' +
  'AND, OR, NOT and parentheses. Quote text with "…". An array attribute matches if one element does.'
export const filterField = {
  anyOf: [{ type: 'string' }, { type: 'array' }],
  description: `A filter on filterable attributes. ${filterSyntax}`,
}
