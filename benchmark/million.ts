import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** Number of files for the million documents. */
const PARTS = 10

/** Generates a million documents from the films, as `PARTS` NDJSON files. @param data the directory of the films */
export async function million(data: string): Promise<string[]> {
  const films = gunzipSync(await readFile(join(data, 'movies.ndjson.gz')))
  const generator = join(data, 'make-million.mjs')
  const child = spawn(process.execPath, [generator], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(films)
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer)
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n')
  const each = Math.ceil(lines.length / PARTS)
  return Array.from({ length: PARTS }, (_, at) => lines.slice(at * each, (at + 1) * each).join('\n'))
}
