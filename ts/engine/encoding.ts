/**
 * How do requests cross into an engine? As UTF-8 JSON, but for their vectors: those are text in Base64, of 32-bit
 * floats, little endian. Writing 384 numbers as decimals took 110 to 160 µs, as Base64 it takes 22.
 */
import type {
  DocumentRequest,
  DocumentsRequest,
  ExplainRequest,
  FacetSearchRequest,
  FederationRequest,
  FilterCheck,
  SearchRequest,
  SimilarRequest,
} from './requests.js'

type EngineRequest =
  | SearchRequest
  | ExplainRequest
  | FederationRequest
  | FacetSearchRequest
  | SimilarRequest
  | DocumentsRequest
  | DocumentRequest
  | FilterCheck

/** A request as an engine takes it. */
export function encodeRequest(request: EngineRequest): Uint8Array {
  const text = 'search' in request ? { ...request, search: withText(request.search) } : withText(request)
  return Buffer.from(JSON.stringify(text))
}

/** The request with its vector as text. */
function withText(request: EngineRequest): object {
  const vector = 'vector' in request ? request.vector : null
  return vector === null ? request : { ...request, vector: base64(vector) }
}

/** What {@link encodeRequest} was given; components of vectors as 32-bit floats. */
export function decodeRequest<T>(bytes: Uint8Array): T {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const request = JSON.parse(text) as TextRequest & { readonly search?: TextRequest }
  const { search } = request
  return (
    search === undefined ? withComponents(request) : { ...request, search: withComponents(search) }
  ) as T
}

interface TextRequest {
  readonly vector?: string | null
}

const withComponents = (request: TextRequest): object =>
  typeof request.vector === 'string' ? { ...request, vector: components(request.vector) } : request

const FLOAT_BYTES = 4

/** All platforms of ours are little endian. */
const base64 = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')

function components(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) => bytes.readFloatLE(at * FLOAT_BYTES))
}
