// Mutations of a line of TypeScript or Rust, as text patterns. Formatters guarantee spaces around operators and one
// statement per line. A mutation may not compile.

/** Lines without behaviour: comments, imports, types, attributes, log calls. */
const ignored =
  /^\s*(\/\/|\/\*|\*|#\[|#!|import |export (\{|\*|type |interface )|use |pub use |mod |pub mod |type |interface |readonly |assert|debug_assert)|\b(log|logger)\.|tracing::|throw new Error\(/

/** Name, pattern and replacement. Every match in the line is a separate mutation. */
const patterns = [
  ['comparison', / < /g, () => ' <= '],
  ['comparison', / <= /g, () => ' < '],
  ['comparison', / > /g, () => ' >= '],
  ['comparison', / >= /g, () => ' > '],
  ['equality', / (=|!)(==?) /g, (_, sign, rest) => ` ${sign === '=' ? '!' : '='}${rest} `],
  ['condition', / && /g, () => ' || '],
  ['condition', / \|\| /g, () => ' && '],
  ['arithmetic', / \+ /g, () => ' - '],
  ['arithmetic', / - /g, () => ' + '],
  ['constant', /\btrue\b/g, () => 'false'],
  ['constant', /\bfalse\b/g, () => 'true'],
  [
    'off by one',
    /(?<![\w.'])\d[\d_]*(?![\w.'])/g,
    (digits) => String(Number(digits.replaceAll('_', '')) + 1),
  ],
  [
    'negated condition',
    /\bif \(((?:[^()]|\((?:[^()]|\([^()]*\))*\))+)\)/g,
    (_, condition) => `if (!(${condition}))`,
  ],
  ['negated condition', /\bif (?!let |\()([^{}]+) \{$/g, (_, condition) => `if !(${condition}) {`],
  ['negation', /(?<=[ (])!(?=[\w(])/g, () => ''],
  ['swapped branches', / \? ([^?:]+) : ([^?:,;]+)$/g, (_, yes, no) => ` ? ${no} : ${yes}`],
  ['swapped branches', / \{ ([^{}]+) \} else \{ ([^{}]+) \}/g, (_, yes, no) => ` { ${no} } else { ${yes} }`],
  ['swapped arguments', /(?<=\w\()([\w.&]+), ([\w.&]+)(?=\))/g, (_, first, second) => `${second}, ${first}`],
  ['extreme', /\.min\(/g, () => '.max('],
  ['extreme', /\.max\(/g, () => '.min('],
  [
    'quantifier',
    /\.(some|every|any|all)\(/g,
    (_, name) => `.${{ some: 'every', every: 'some', any: 'all', all: 'any' }[name]}(`,
  ],
]

/** Removable statements, and lines before which a function can return. */
const statement = /^(\s+)((await |this\.|self\.)?[\w.#[\]]+(\(.*\)\??| [-+*/|&]?= .*[^{(,]);?)$/

/** Returns every mutation of a line as `{ name, text }`. */
export function mutationsOf(line, path) {
  if (ignored.test(line)) return []
  const found = []
  // Masks strings and trailing comments with equal length, so that they are not changed.
  const code = line.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\/\/.*$/g, (text) =>
    '\u0000'.repeat(text.length),
  )
  for (const [name, pattern, write] of patterns)
    for (const match of code.matchAll(pattern)) {
      const end = match.index + match[0].length
      const original = line.slice(match.index, end).match(new RegExp(pattern.source, '')) ?? match
      const written = match[0].includes('\u0000')
        ? line.slice(match.index, end).replace(pattern, write)
        : write(...original)
      const text = line.slice(0, match.index) + written + line.slice(end)
      if (text !== line) found.push({ name, text })
    }
  const isRust = path.endsWith('.rs')
  const [, indent] = statement.exec(line) ?? []
  if (indent !== undefined && line.endsWith(';') === isRust) {
    found.push({ name: 'removed statement', text: `${indent}// removed` })
    if (!isRust) found.push({ name: 'early return', text: `${indent}return` })
  }
  if (isRust && /^\s+return .*;$/.test(line))
    found.push({ name: 'removed return', text: line.replace(/return .*/, '') })
  return found
}
