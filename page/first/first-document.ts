/** Reads the first document of a file, to propose a name and a primary key for its index. */
import type { Formats } from '../indexes/upload.ts'

/** Bytes read from the start of a file. */
const HEAD_BYTES = 262_144

/** Returns the names of the first document's fields. Empty if the document is longer than the head or not readable. */
export async function firstFields(file: File, format: Formats): Promise<readonly string[]> {
  const text = await head(file)
  try {
    if (format === 'CSV') return csvNames(text)
    const document: unknown = JSON.parse(format === 'NDJSON' ? firstLine(text) : firstObject(text))
    return typeof document === 'object' && document !== null ? Object.keys(document) : []
  } catch {
    return []
  }
}

/** Returns the fields that the server may choose as primary key by itself: their names end with `id`. */
export const keyCandidates = (fields: readonly string[]): readonly string[] =>
  fields.filter((name) => name.toLowerCase().endsWith('id'))

/** Makes an index uid of a file name: `My films.ndjson.gz` becomes `My-films`. */
export function uidOf(fileName: string): string {
  const base = fileName.replace(/(\.(json|ndjson|jsonl|csv|gz))+$/i, '')
  return (
    base
      .replace(/[^\w-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 100) || 'documents'
  )
}

async function head(file: File): Promise<string> {
  const decoder = new TextDecoder()
  if (!/\.gz$/i.test(file.name)) return decoder.decode(await file.slice(0, HEAD_BYTES).arrayBuffer())
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  let text = ''
  while (text.length < HEAD_BYTES) {
    const { value, done } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader.cancel()
  return text
}

const firstLine = (text: string): string => text.trimStart().split('\n', 1)[0] ?? ''

/** Returns the text of the first object in a JSON text. */
function firstObject(text: string): string {
  const start = text.indexOf('{')
  let [depth, isInText] = [0, false]
  for (let i = start; i >= 0 && i < text.length; i++) {
    const char = text[i]
    if (isInText) {
      if (char === '\\') i++
      else if (char === '"') isInText = false
    } else if (char === '"') isInText = true
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return text.slice(start, i + 1)
  }
  return ''
}

/** Returns the names in a CSV header, without their types: `price:number` becomes `price`. */
function csvNames(text: string): readonly string[] {
  const cells = firstLine(text).match(/("([^"]|"")*"|[^,]*)(,|\r?$)/g) ?? []
  return cells
    .map(
      (cell) =>
        cell
          .replace(/,$|\r$/, '')
          .replace(/^"|"$/g, '')
          .replaceAll('""', '"')
          .split(':')[0] ?? '',
    )
    .filter((name) => name !== '')
}
