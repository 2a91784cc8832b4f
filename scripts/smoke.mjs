// Checks that installed packages serve and search:  node smoke.mjs FOLDER SAMPLE native|fallback|auto [DATA OPTIONS…]
// FOLDER contains node_modules/siftd. SAMPLE is an NDJSON file; the check searches the title of its first document.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [folder, sample, engine, given, ...options] = process.argv.slice(2)
if (engine === undefined)
  throw new Error('usage: smoke.mjs FOLDER SAMPLE native|fallback|auto [DATA OPTIONS…]')
const [first] = readFileSync(sample, 'utf8').split('\n')
const { id, title } = JSON.parse(first)

const main = join(folder, 'node_modules', 'siftd', 'dist', 'bundle', 'siftd.js')
const data = given ?? mkdtempSync(join(tmpdir(), 'siftd-smoke-'))
const args = [main, '--engine', engine, '--http-addr', '127.0.0.1:0', '--db-path', data, ...options]
const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
// Without a code a signal ended it, which is a failure.
child.once('exit', (code) => process.exit(code ?? 1))

let text = ''
let driver = ''
const url = await new Promise((resolve) => {
  child.stderr.on('data', (chunk) => {
    process.stderr.write(chunk)
    text += chunk
    const [, found] = /^Server listening on: +"(.*)"$/m.exec(text) ?? []
    const [, store] = /^Task store: +"(.*)"$/m.exec(text) ?? []
    if (found && store) {
      driver = store
      resolve(found)
    }
  })
})
const post = (path, type, body) =>
  fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body }).then((answer) =>
    answer.json(),
  )
const { taskUid } = await post('/indexes/films/documents', 'application/x-ndjson', readFileSync(sample))
for (let status = ''; status !== 'succeeded'; ) {
  const task = await (await fetch(`${url}/tasks/${taskUid}`)).json()
  if (task.status === 'failed') throw new Error(JSON.stringify(task.error))
  status = task.status
  await new Promise((resolve) => setTimeout(resolve, 50))
}
const { hits } = await post('/indexes/films/search', 'application/json', JSON.stringify({ q: title }))
if (hits[0]?.id !== id) throw new Error(`expected document ${id} first, found ${JSON.stringify(hits[0])}`)
console.log(`the ${engine} engine with the ${driver} task store serves and finds "${title}"`)
// On Windows a signal kills the process without a shutdown.
if (process.platform === 'win32') child.send('shutdown')
else child.kill('SIGTERM')
