/**
 * Encodes requests to engines as UTF-8 JSON. Vectors are Base64 text of 32-bit little-endian floats: encoding 384
 * numbers takes 22 µs in Base64, but 110 to 160 µs as decimals.
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

/** Encodes a request for an engine. */
export function encodeRequest(request: EngineRequest): Uint8Array {
  const text =
    'search' in request
      ? { ...request, search: withEncodedVector(request.search) }
      : withEncodedVector(request)
  return Buffer.from(JSON.stringify(text))
}

/** Encodes the vector of a request as Base64 text. */
function withEncodedVector(request: EngineRequest): object {
  const vector = 'vector' in request ? request.vector : null
  return vector === null ? request : { ...request, vector: encodedVector(vector) }
}

/** Reverses {@link encodeRequest}; vector components become 32-bit floats. */
export function decodeRequest<T>(bytes: Uint8Array): T {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const request = JSON.parse(text) as EncodedRequest & { readonly search?: EncodedRequest }
  const { search } = request
  return (
    search === undefined ? withDecodedVector(request) : { ...request, search: withDecodedVector(search) }
  ) as T
}

interface EncodedRequest {
  readonly vector?: string | null
}

const withDecodedVector = (request: EncodedRequest): object =>
  typeof request.vector === 'string' ? { ...request, vector: components(request.vector) } : request

const FLOAT_BYTES = 4

/** All supported platforms are little endian. */
const encodedVector = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')

function components(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) => bytes.readFloatLE(at * FLOAT_BYTES))
}
