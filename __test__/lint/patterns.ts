/** Which regular expressions a JavaScript module holds, and which of them take more than linear time. */
import { type CallExpression, type NewExpression, parse } from 'acorn'
import { simple } from 'acorn-walk'
import { checkSync } from 'recheck'
import { analyse } from 'scslre'

/** A regular expression, or an expression that becomes one while the program runs. */
export interface Pattern {
  /** The module's path and the line. */
  readonly at: string
  /** As it is written. */
  readonly text: string
  /** null: it is made from values, so that its time cannot be told from the source. */
  readonly literal: { readonly source: string; readonly flags: string } | null
}

const stringMethods = ['match', 'matchAll', 'search']

/** All patterns of a module. @param path for messages */
export function patternsOf(path: string, module: string): readonly Pattern[] {
  const found: Pattern[] = []
  const add = (node: { start: number; end: number }, literal: Pattern['literal']): void => {
    const line = module.slice(0, node.start).split('\n').length
    found.push({ at: `${path}:${line}`, text: module.slice(node.start, node.end), literal })
  }
  const constructed = (node: CallExpression | NewExpression): void => {
    if (node.callee.type === 'Identifier' && node.callee.name === 'RegExp') add(node, null)
  }
  simple(parse(module, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true }), {
    Literal(node) {
      if (node.regex) add(node, { source: node.regex.pattern, flags: node.regex.flags })
    },
    NewExpression: constructed,
    CallExpression(node) {
      constructed(node)
      const { callee, arguments: given } = node
      const [argument] = given
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      // These methods of strings make a pattern of a text; other objects have methods of the same names.
      const isText = argument?.type === 'TemplateLiteral' || argument?.type === 'Literal'
      const isPattern = argument?.type === 'Literal' && argument.regex
      if (stringMethods.includes(callee.property.name) && isText && !isPattern) add(node, null)
    },
  })
  return found
}

/** Without one of these a pattern looks at a bounded number of characters from each position. */
const UNBOUNDED = /[*+]|\{\d+,\}/

/** What is wrong with each pattern that is not proved to be linear, one line each. */
export function superLinear(patterns: readonly Pattern[]): readonly string[] {
  return patterns.flatMap(({ at, text, literal }) => {
    if (literal === null) return [`${at} ${text}: a pattern must be a literal`]
    if (!UNBOUNDED.test(literal.source)) return []
    // One analyser knows assertions, the other repeated words and alternatives that overlap.
    if (analyse(literal).reports.length > 0) return [`${at} ${text}: backtracks on a repeated character`]
    // Without a time limit, for a busy machine would have a pattern pass that was only not analysed to its end.
    const proof = checkSync(literal.source, literal.flags, { checker: 'automaton', timeout: null })
    return proof.status === 'vulnerable' ? [`${at} ${text}: ${proof.complexity.summary}`] : []
  })
}
