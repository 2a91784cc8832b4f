/** Uploads a file without reading it into memory, and reports the progress. */
import { Failure, failureOf, headers, indexPath } from '../api/client.ts'

export const formats = {
  JSON: 'application/json',
  NDJSON: 'application/x-ndjson',
  CSV: 'text/csv',
} as const
export type Formats = keyof typeof formats

/** Guesses the format by the file extension. Default: JSON. */
export function formatOf(name: string): Formats {
  const plain = name.toLowerCase().replace(/\.gz$/, '')
  if (/\.(ndjson|jsonl)$/.test(plain)) return 'NDJSON'
  return plain.endsWith('.csv') ? 'CSV' : 'JSON'
}

export interface Upload {
  readonly index: string
  readonly file: File
  readonly format: Formats
  /** Empty: from the index, or inferred from the documents. */
  readonly primaryKey: string
  /** True to update existing documents instead of replacing them. */
  readonly isUpdate: boolean
}

/** Uses `XMLHttpRequest`, because `fetch` does not report upload progress. @throws {Failure} */
export function upload(
  { index, file, format, primaryKey, isUpdate }: Upload,
  progress: (sent: number, total: number) => void,
  signal: AbortSignal,
): Promise<{ readonly taskUid: number }> {
  const query = primaryKey === '' ? '' : `?primaryKey=${encodeURIComponent(primaryKey)}`
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(isUpdate ? 'PUT' : 'POST', indexPath(index, `/documents${query}`))
    for (const [name, value] of Object.entries(headers(formats[format])))
      request.setRequestHeader(name, value)
    if (/\.gz$/i.test(file.name)) request.setRequestHeader('Content-Encoding', 'gzip')
    request.upload.onprogress = ({ loaded, total }) => progress(loaded, total)
    request.onload = () =>
      request.status < 300
        ? resolve(JSON.parse(request.responseText) as { taskUid: number })
        : reject(failureOf(request.status, request.responseText))
    request.onerror = () => reject(new Failure(0, 'no_answer', 'The server did not accept the file.'))
    request.onabort = () => reject(new DOMException('canceled', 'AbortError'))
    signal.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}
