// Writes the tables of docs/configure.md from the option table, like `--help`:
//
//   npm run build && node scripts/document-options.mjs [--check] [PAGE]
//
// The text around the tables is written by hand. `--check` changes nothing and exits with 1 if the tables are outdated.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { defaultText, effectText } from '../dist/ts/launch/help.js'
import { flagsOf, kebab, variableOf, variablesOf } from '../dist/ts/launch/names.js'
import { subjects } from '../dist/ts/launch/table.js'

const begin = '<!-- options: written by scripts/document-options.mjs -->'
const end = '<!-- options end -->'

/** Replaces the tables of the page by those of this build. */
function withOptions(text) {
  const [before, rest] = text.split(`${begin}\n`)
  const [, after] = rest?.split(end) ?? []
  if (after === undefined) throw new Error(`the page lacks the line \`${begin}\` or \`${end}\``)
  return `${before}${begin}\n\n${subjects.map(section).join('\n')}\n${end}${after}`
}

function section([title, rows]) {
  const lines = Object.entries(rows).map(([name, row]) => line(name, row))
  return `### ${title}\n\n| option | variable | default | meaning |\n|---|---|---|---|\n${lines.join('')}`
}

function line(name, row) {
  const value = row.placeholder === null ? '' : `<${row.placeholder}>`
  const flag = `--${kebab(name)} ${row.bare === undefined ? value : `[${value}]`}`.trim()
  const variable = variableOf(name, row)
  const fallback = row.placeholder === null ? 'off' : defaultOf(row)
  const cells = row.isVariable ? ['', code(`${variable}=${value}`)] : [code(flag), code(variable)]
  return `| ${[...cells, fallback, meaning(name, row)].join(' | ')} |\n`
}

/** Formats a default as code, unless it is given in words. */
function defaultOf(row) {
  const text = defaultText(row)
  return row.defaultInWords !== undefined || text === 'none' ? text : code(text)
}

function meaning(name, row) {
  const aliases = flagsOf(name, row).filter((flag, at) => at > 0 && !row.help.includes(`--${flag}`))
  const foreign = variablesOf(name, row).filter((variable) => variable === row.foreignVariable)
  const parts = [
    row.help,
    row.noEffect && effectText(row.noEffect),
    row.requires && `needs ${code(`--${kebab(row.requires)}`)}`,
    row.excludes && `excludes ${code(`--${kebab(row.excludes)}`)}`,
    row.isSecret && 'a secret',
    aliases.length > 0 && `also ${aliases.map((alias) => code(`--${alias}`)).join(', ')}`,
    foreign.length > 0 && `also ${foreign.map(code).join(', ')}`,
  ]
  return parts.filter(Boolean).join('; ').replaceAll('|', '\\|')
}

function code(text) {
  return `\`${text.replaceAll('|', '\\|')}\``
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false } },
})
const page = positionals[0] ?? new URL('../docs/configure.md', import.meta.url)
const text = readFileSync(page, 'utf8')
const wanted = withOptions(text)
if (!values.check) writeFileSync(page, wanted)
else if (text !== wanted) {
  console.error(`${page} is outdated: run node scripts/document-options.mjs`)
  process.exitCode = 1
}
