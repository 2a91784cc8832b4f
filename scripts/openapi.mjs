// Compares the OpenAPI document of this build with another one, in both directions:
//
//   node scripts/openapi.mjs SHAPES.json [--print]
//
// Every difference is a line: `-` is only in SHAPES, `+` only here. Differences that `openapi-differences.json`
// explains are counted. Others are printed and make the command fail, as do unused explanations.
// `--print` prints this build's document instead.
import { readFileSync } from 'node:fs'
import { buildServer, defaultHttpOptions } from '../dist/ts/http/index.js'
import { openLog } from '../dist/ts/telemetry/index.js'

const LEVELS_MAX = 7

const log = openLog({ level: 'OFF', mode: 'HUMAN' })
// Empty services suffice: adding a route calls none, and the request below calls only `auth`.
const parts = ['engine', 'tasks', 'instance', 'features', 'webhooks', 'outbound', 'telemetry']
const services = {
  ...Object.fromEntries(parts.map((name) => [name, {}])),
  instance: { onReplaced: () => undefined },
  tasks: { onChange: () => () => undefined },
  auth: { require: async () => ({}) },
  log,
  options: defaultHttpOptions,
  version: { pkgVersion: '0' },
}
const app = buildServer(services)
await app.ready()
const ours = (await app.inject('/openapi.json')).json()
await app.close()

const [path] = process.argv.slice(2)
if (process.argv.includes('--print')) {
  process.stdout.write(`${JSON.stringify(ours, null, 2)}\n`)
  process.exit(0)
}
if (path === undefined) throw new Error('usage: openapi.mjs SHAPES.json [--print]')
const theirs = JSON.parse(readFileSync(path, 'utf8'))
const explained = JSON.parse(readFileSync(new URL('openapi-differences.json', import.meta.url), 'utf8'))

/** Returns a line for each part of the API that a document describes. */
function promises(document) {
  const lines = new Set()
  for (const [url, operations] of Object.entries(document.paths)) {
    const where = url.replace(/\{\w+\}/g, '{}')
    for (const [method, operation] of Object.entries(operations)) {
      const at = `${method.toUpperCase()} ${where}`
      lines.add(at)
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in === 'query')
          lines.add(`${at} query ${parameter.name}${parameter.required ? ' required' : ''}`)
      }
      for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
        lines.add(`${at} takes ${type}`)
        if (type === 'application/json')
          for (const one of fields(document, schema)) lines.add(`${at} body ${one}`)
      }
      for (const [status, answer] of Object.entries(operation.responses)) {
        if (!status.startsWith('2')) continue
        lines.add(`${at} answers ${status}`)
        const schema = answer.content?.['application/json']?.schema
        for (const one of fields(document, schema)) lines.add(`${at} answer ${one}`)
      }
    }
  }
  return lines
}

/** Returns the paths of all properties of a schema: `.a.b`, `[]` in arrays, `.*` in maps. */
function fields(document, schema, path = '', seen = []) {
  if (typeof schema !== 'object' || schema === null || seen.length > LEVELS_MAX) return []
  if (schema.$ref !== undefined) {
    if (seen.includes(schema.$ref)) return []
    const name = schema.$ref.split('/').at(-1)
    return fields(document, document.components.schemas[name], path, [...seen, schema.$ref])
  }
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  const inside = choices.flatMap((one) => fields(document, one, path, seen))
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    `${path}.${name}`,
    ...fields(document, inner, `${path}.${name}`, seen),
  ])
  const items = schema.items ? fields(document, schema.items, `${path}[]`, seen) : []
  const values = schema.additionalProperties
    ? fields(document, schema.additionalProperties, `${path}.*`, seen)
    : []
  return [...inside, ...own, ...items, ...values]
}

const [here, there] = [promises(ours), promises(theirs)]
const differences = [
  ...[...there].filter((line) => !here.has(line)).map((line) => `- ${line}`),
  ...[...here].filter((line) => !there.has(line)).map((line) => `+ ${line}`),
]
// A missing route is one difference, not one per field.
const missing = differences.filter((line) => /^. [A-Z]+ \S+$/.test(line))
const shown = differences.filter(
  (line) => missing.includes(line) || !missing.some((route) => line.startsWith(`${route} `)),
)
const used = new Set()
const unexplained = shown.filter((line) => {
  const known = explained.find(({ difference }) => new RegExp(`^(?:${difference})$`).test(line))
  if (known !== undefined) used.add(known)
  return known === undefined
})
const idle = explained.filter((one) => !used.has(one))
for (const line of unexplained) console.log(line)
for (const { difference } of idle) console.log(`explains nothing: ${difference}`)
console.log(
  `${here.size} promises here, ${there.size} there, ${shown.length} differences, ${unexplained.length} unexplained`,
)
process.exit(unexplained.length + idle.length === 0 ? 0 : 1)
