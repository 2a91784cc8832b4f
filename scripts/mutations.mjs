// Mutations of one line of TypeScript or Rust, as patterns over text: formatters put spaces around operators and keep
// statements apart. What results may not compile.

/** Lines that hold no behaviour: comments, imports, types, attributes, the log. */
const ignored =
  /^\s*(\/\/|\/\*|\*|#\[|#!|import |export (\{|\*|type |interface )|use |pub use |mod |pub mod |type |interface |readonly |assert|debug_assert)|\b(log|logger)\.|tracing::|throw new Error\(/

/** Each: what it does, what it looks for, what it writes. Every place in the line is a mutation of its own. */
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

/** Statements that can be left out, and lines before which a function can end. */
const statement = /^(\s+)((await |this\.|self\.)?[\w.#[\]]+(\(.*\)\??| [-+*/|&]?= .*[^{(,]);?)$/

/** Every mutation of a line: `{ name, text }`. */
export function mutationsOf(line, path) {
  if (ignored.test(line)) return []
  const found = []
  // Strings and trailing comments are left alone; their place is kept.
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
