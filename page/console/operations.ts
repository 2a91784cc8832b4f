/** The operations of the server's OpenAPI document. */

export interface Operation {
  readonly method: string
  readonly path: string
  readonly summary: string
  /** An example body as JSON text, empty if the operation takes none. */
  readonly body: string
}

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly summary?: string; readonly requestBody?: unknown }>>>
  >
}

/** Lists the operations by path. */
export const operationsOf = ({ paths }: OpenApi): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary = '', requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      summary,
      body: requestBody === undefined ? '' : '{}',
    })),
  )

export type { OpenApi }
