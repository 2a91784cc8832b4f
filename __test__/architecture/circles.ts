/** Finds files that depend on each other in a circle. */
import { dirname } from 'node:path'
import type { Arrow } from './arrows.js'

/** Returns groups of files that reach each other by arrows, each sorted. A file with an arrow to itself is no group. */
export function circles(arrows: readonly Arrow[]): readonly (readonly string[])[] {
  const after = new Map<string, Set<string>>()
  for (const { from, to } of arrows) {
    if (from === to) continue
    after.set(from, (after.get(from) ?? new Set()).add(to))
    if (!after.has(to)) after.set(to, new Set())
  }
  // Tarjan's algorithm: a group is complete if none of its files reaches a file visited earlier.
  const met = new Map<string, number>()
  const least = new Map<string, number>()
  const open: string[] = []
  const found: string[][] = []
  const visit = (file: string): void => {
    met.set(file, met.size)
    least.set(file, met.get(file)!)
    open.push(file)
    for (const next of after.get(file)!) {
      if (!met.has(next)) visit(next)
      if (open.includes(next)) least.set(file, Math.min(least.get(file)!, least.get(next)!))
    }
    if (least.get(file) !== met.get(file)) return
    const group = open.splice(open.indexOf(file))
    if (group.length > 1) found.push(group.sort())
  }
  for (const file of after.keys()) if (!met.has(file)) visit(file)
  return found.sort((a, b) => (a[0]! < b[0]! ? -1 : 1))
}

const testPart = /^#\[cfg\(test\)\]\s*\n\s*(?:pub(?:\([^)]*\))?\s+)?(?:mod \w+ \{|mod \w+;)/m

/**
 * Finds the uses of other files of the crate in a Rust file: `use` and paths that begin with `crate`, `super` or
 * `self`, each resolved to the file that declares its last module. Ignores tests inside the file.
 * @param files every file of the crate, relative to `src`
 */
export function rustFileArrows(file: string, text: string, files: ReadonlySet<string>): readonly Arrow[] {
  const end = text.search(testPart)
  const inlineTests = end === -1 ? text : text.slice(0, end).concat(afterDeclarations(text.slice(end)))
  const plain = inlineTests.replaceAll(/^\s*\/\/.*$/gm, '').replaceAll(/\bpub\([^)]*\)/g, 'pub')
  const arrows: Arrow[] = []
  const isModFile = /(^|\/)(mod|lib)\.rs$/.test(file)
  const here = isModFile ? dirname(file) : file.replace(/\.rs$/, '')
  for (const [, path = ''] of plain.matchAll(/\b((?:crate|super|self)::[\w:]*(?:\{[^;]*?\})?)/g)) {
    for (const segments of expanded(path)) {
      const to = resolved(segments, here, files)
      if (to !== null && to !== file) arrows.push({ from: file, to })
    }
  }
  // `mod x;` with `pub use x::Y` in an entry file.
  if (isModFile) {
    for (const [, path = ''] of plain.matchAll(/\bpub(?:\([^)]*\))? use (\w[\w:]*(?:\{[^;]*?\})?)/g)) {
      if (/^(crate|super|self)\b/.test(path)) continue
      for (const segments of expanded(path)) {
        const to = resolved(['self', ...segments], here, files)
        if (to !== null && to !== file) arrows.push({ from: file, to })
      }
    }
  }
  return arrows
}

/** Returns the text after the declaration of a test module in a separate file. */
const afterDeclarations = (rest: string): string =>
  /^#\[cfg\(test\)\]\s*\n\s*(?:pub(?:\([^)]*\))?\s+)?mod \w+;/.test(rest)
    ? rest.slice(rest.indexOf(';') + 1).replace(/#\[cfg\(test\)\]\s*\n\s*mod \w+ \{[\s\S]*$/m, '')
    : ''

/** Expands `a::{b, c::d}` to its paths. */
function expanded(path: string): readonly (readonly string[])[] {
  const brace = path.indexOf('{')
  if (brace === -1) return [path.split('::').filter((part) => part !== '')]
  const head = path
    .slice(0, brace)
    .split('::')
    .filter((part) => part !== '')
  const inner = path.slice(brace + 1, path.lastIndexOf('}'))
  const parts: string[] = []
  let depth = 0
  let part = ''
  for (const letter of inner) {
    if (letter === '{') depth++
    if (letter === '}') depth--
    if (letter === ',' && depth === 0) {
      parts.push(part)
      part = ''
    } else part += letter
  }
  parts.push(part)
  return parts
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .flatMap((one) => expanded(one).map((tail) => [...head, ...tail]))
}

function resolved(segments: readonly string[], here: string, files: ReadonlySet<string>): string | null {
  let folder = here
  let rest = [...segments]
  const [first] = rest
  if (first === 'crate') folder = '.'
  if (first === 'crate' || first === 'self') rest = rest.slice(1)
  while (rest[0] === 'super') {
    folder = dirname(folder)
    rest = rest.slice(1)
  }
  const at = (path: string) => (path === '.' ? '' : `${path}/`)
  for (const name of rest) {
    const next = `${at(folder)}${name.split(' ')[0]}`
    if (!files.has(`${next}.rs`) && !files.has(`${next}/mod.rs`)) break
    folder = next
  }
  if (folder === '.') return 'lib.rs'
  return files.has(`${folder}.rs`)
    ? `${folder}.rs`
    : files.has(`${folder}/mod.rs`)
      ? `${folder}/mod.rs`
      : null
}
