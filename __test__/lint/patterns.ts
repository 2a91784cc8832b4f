/** Finds the regular expressions in a JavaScript module, and those that take more than linear time. */
import { type CallExpression, type NewExpression, parse } from 'acorn'
import { simple } from 'acorn-walk'
import { checkSync } from 'recheck'
import { analyse } from 'scslre'

/** A regular expression literal, or an expression that creates a regular expression at run time. */
export interface Pattern {
  /** Path of the module, and line. */
  readonly at: string
  /** Source text. */
  readonly text: string
  /** Null if it is created at run time, so the source does not show its time. */
  readonly literal: { readonly source: string; readonly flags: string } | null
}

const stringMethods = ['match', 'matchAll', 'search']

/** Returns all patterns of a module. @param path for messages */
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
      // These string methods turn a text into a pattern. Other objects have methods with the same names.
      const isText = argument?.type === 'TemplateLiteral' || argument?.type === 'Literal'
      const isPattern = argument?.type === 'Literal' && argument.regex
      if (stringMethods.includes(callee.property.name) && isText && !isPattern) add(node, null)
    },
  })
  return found
}

/** A pattern without these reads a bounded number of characters from each position. */
const UNBOUNDED = /[*+]|\{\d+,\}/

/** Returns a line for each pattern that is not proved to be linear. */
export function superLinear(patterns: readonly Pattern[]): readonly string[] {
  return patterns.flatMap(({ at, text, literal }) => {
    if (literal === null) return [`${at} ${text}: a pattern must be a literal`]
    if (!UNBOUNDED.test(literal.source)) return []
    // The first analyser supports assertions, the second repeated words and overlapping alternatives.
    if (analyse(literal).reports.length > 0) return [`${at} ${text}: backtracks on a repeated character`]
    // No time limit, because on a busy machine an incomplete analysis would accept a bad pattern.
    const proof = checkSync(literal.source, literal.flags, { checker: 'automaton', timeout: null })
    return proof.status === 'vulnerable' ? [`${at} ${text}: ${proof.complexity.summary}`] : []
  })
}
