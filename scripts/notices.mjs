// Collects the licences of all third-party code in a package.
//
// Libraries are those with files in the bundle or the page. Crates are those that `cargo metadata` resolves for the
// target, without build and test dependencies. Some crates contain C and C++ sources with separate licence files (zstd,
// mimalloc, usearch).
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Licences that are allowed without a decision. Each part of an `AND` must be one of them. */
const permissive =
  /^(?:MIT|MIT-0|Apache-2\.0(?: WITH LLVM-exception)?|BSD-[123]-Clause|0BSD|ISC|Zlib|BlueOak-1\.0\.0|Unicode-3\.0|Unlicense|CC0-1\.0|BSL-1\.0|MPL-2\.0\+?|bzip2-1\.0\.6)$/

/** Folder depth to search for licences of C and C++ sources in a crate. */
const LEVELS_MAX = 4

/** Data in a crate with a licence that differs from the crate's. */
const data = {
  charabia: [
    {
      name: 'German word list of charabia (dictionaries/txt/german/words.txt)',
      license: 'LGPL-3.0-or-later',
      text: `Copyright (c) 2016-2017 Uwe Schindler, Björn Jacke; extended by luflow.
From https://github.com/uschindler/german-decompounder. The list is compiled into the binary; its source is in the crate
charabia, and the whole source of the binary with its build is in this project's repository, so that a binary with
another list can be made. docs/decisions/0023-the-german-word-list.md says more.`,
      files: ['LGPL-3.0.txt', 'GPL-3.0.txt'],
    },
  ],
}

const isLicense = (name) => /^(?:licen[cs]e|copying|notice|copyright)/i.test(name)

/** Returns licence files in a folder and, for C and C++ sources, below it. */
function licenseFiles(folder, levels) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isFile()) return isLicense(entry.name) ? [path] : []
      const isSkipped =
        !entry.isDirectory() || levels === 0 || /^(?:node_modules|tests?|\..*)$/.test(entry.name)
      return isSkipped ? [] : licenseFiles(path, levels - 1)
    })
}

const textOf = (file) => readFileSync(join(root, 'licenses', file), 'utf8').trim()

function partOf(folder, { name, version, license, from, authors }, levels) {
  const texts = licenseFiles(folder, levels).map((path) => ({
    path: relative(folder, path),
    text: readFileSync(path, 'utf8').trim(),
  }))
  return {
    name: `${name} ${version}`,
    license,
    from,
    texts: texts.length > 0 ? texts : [standard(license, authors)],
  }
}

/** Returns the text of a licence that a library names but does not contain. */
function standard(license, authors = []) {
  const chosen = ['MIT', 'Apache-2.0'].find((one) => String(license).includes(one))
  if (chosen === undefined) throw new Error(`no text for the licence ${license}`)
  const owners = authors.length > 0 ? authors.join(', ') : 'its authors'
  return { path: `its licence ${chosen}`, text: `Copyright (c) ${owners}\n\n${textOf(`${chosen}.txt`)}` }
}

/** The readings of Chinese characters, which both engines contain. */
const pinyin = () =>
  partOf(
    join(root, 'ts/engine/fallback/analysis/pinyin'),
    {
      name: 'Readings of Chinese characters of pinyin-pro',
      version: '3.29.4',
      license: 'MIT',
      from: 'https://github.com/zh-lx/pinyin-pro',
    },
    0,
  )

/** Returns the libraries in the bundle and the page. */
export function bundledParts() {
  const files = ['bundled-files.json', 'page-files.json'].flatMap((name) =>
    JSON.parse(readFileSync(join(root, 'dist', name), 'utf8')),
  )
  const folders = new Set(
    files.map((path) => /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path.replace(/^\0/, ''))?.[0]),
  )
  const stemmers = join(root, 'ts/engine/fallback/analysis/snowball')
  const snowball = {
    name: 'Snowball',
    version: '3.0.1',
    license: 'BSD-3-Clause',
    from: 'https://snowballstem.org/',
  }
  const dictionaries = join(root, 'ts/engine/fallback/analysis/dictionaries')
  const wordLists = {
    name: 'Thai and Khmer words of charabia',
    version: '0.9.9',
    license: 'MIT AND CC0-1.0 AND Unicode-3.0',
    from: 'https://github.com/meilisearch/charabia',
  }
  const libraries = [...folders]
    .filter((folder) => folder !== undefined && existsSync(join(root, folder, 'package.json')))
    .map((folder) => {
      const { name, version, license, homepage, author } = JSON.parse(
        readFileSync(join(root, folder, 'package.json'), 'utf8'),
      )
      return partOf(
        join(root, folder),
        { name, version, license, from: homepage, authors: [author?.name ?? author].filter(Boolean) },
        0,
      )
    })
  return [...libraries, partOf(stemmers, snowball, 0), partOf(dictionaries, wordLists, 0), pinyin()]
}

/** Returns the crates linked into the addons of a target. */
export function crateParts(target, addons) {
  const args = ['metadata', '--format-version', '1', '--locked', '--filter-platform', target]
  const { status, stdout, stderr } = spawnSync('cargo', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`cargo metadata: ${stderr}`)
  const { packages, resolve, workspace_members: own } = JSON.parse(stdout)
  const byId = new Map(packages.map((one) => [one.id, one]))
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]))
  const reached = new Set()
  const visit = (id) => {
    // Procedural macros run in the compiler and are not in the binary.
    const isMacro = byId.get(id).targets.some(({ kind }) => kind.includes('proc-macro'))
    if (reached.has(id) || isMacro) return
    reached.add(id)
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps)
      if (kinds.some(({ kind }) => kind === null)) visit(pkg)
  }
  for (const { id, name } of packages) if (own.includes(id) && addons.includes(name)) visit(id)
  const parts = [...reached]
    .filter((id) => !own.includes(id))
    .map((id) => byId.get(id))
    .flatMap(({ name, version, license, repository, authors, manifest_path: manifest }) => [
      partOf(dirname(manifest), { name, version, license, from: repository, authors }, LEVELS_MAX),
      ...(data[name] ?? []).map(({ files, text, ...part }) => ({
        ...part,
        texts: [{ path: 'notice', text }, ...files.map((file) => ({ path: file, text: textOf(file) }))],
      })),
    ])
  const hasEngine = [...reached].some((id) => byId.get(id).name === 'siftd-engine')
  return hasEngine ? [...parts, pinyin()] : parts
}

/** Returns true if one alternative (`OR`) of a licence expression contains only permissive licences. */
const isPermissive = (license) =>
  String(license)
    .replaceAll(/[()]/g, '')
    .split(/ OR |\//)
    .some((choice) => choice.split(' AND ').every((one) => permissive.test(one.trim())))

/** Returns the parts without a decision about their licence. */
export const undecided = (parts) => {
  const decided = Object.values(data).flat()
  return parts.filter(
    ({ name, license }) => !isPermissive(license) && !decided.some((one) => one.name === name),
  )
}

/** Returns the notices of a package. Each licence text appears once, with all its parts. */
export function noticesOf(parts) {
  const sorted = parts.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const texts = new Map()
  for (const { name, texts: own } of sorted)
    for (const { path, text } of own) texts.set(text, [...(texts.get(text) ?? []), `${name} (${path})`])
  const list = sorted.map(({ name, license, from }) => `- ${name}: ${license}${from ? `, ${from}` : ''}`)
  const bodies = [...texts].map(([text, names]) => `${'-'.repeat(78)}\n${names.join('\n')}\n\n${text}`)
  return `This package holds code and data of others:\n\n${list.join('\n')}\n\n${bodies.join('\n\n')}\n`
}
