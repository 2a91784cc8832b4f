/**
 * Tags that differ between the API's dialect and liquidjs. Source: vectors §3.1.
 *
 * 1. An unknown variable as a complete condition is false. Comparing it or passing it to a filter is an error.
 * 2. `ifchanged` writes its content only if it differs from the last content it wrote.
 */
import {
  type Context,
  type Emitter,
  evalToken,
  IfTag,
  isTruthy,
  type Liquid,
  type Parser,
  Tag,
  type TagToken,
  type Template,
  type TopLevelToken,
  toValue,
  UnlessTag,
  type Value,
} from 'liquidjs'

type Steps<T> = Generator<unknown, T, unknown>
type Operators = Readonly<Record<string, (...args: unknown[]) => unknown>>

/** Operators whose operands are conditions. */
const logical: ReadonlySet<string> = new Set(['and', 'or', 'not'])

/** A token of a condition in postfix order, with the operator that uses its value; null: no operator. */
interface Operand {
  readonly token: Value['initial']['postfix'][number]
  readonly operator: string | null
  usedBy: string | null
}

function operandsOf({ initial: { postfix } }: Value): readonly Operand[] {
  const open: Operand[] = []
  return postfix.map((token) => {
    const operator = 'operator' in token ? String(token.operator) : null
    const operand: Operand = { token, operator, usedBy: null }
    const taken = operator === null ? 0 : operator === 'not' ? 1 : 2
    for (const used of open.splice(open.length - taken)) used.usedBy = operator
    open.push(operand)
    return operand
  })
}

/** Evaluates a condition. @throws Error if an unknown variable is compared or passed to a filter */
function* evaluates(value: Value, context: Context): Steps<boolean> {
  if (value.filters.length > 0) return isTruthy(toValue(yield value.value(context, false)), context)
  const operators = context.opts.operators as Operators
  const found: unknown[] = []
  for (const { token, operator, usedBy } of operandsOf(value)) {
    if (operator === null) {
      found.push(yield evalToken(token, context, usedBy === null || logical.has(usedBy)))
      continue
    }
    const args = found.splice(found.length - (operator === 'not' ? 1 : 2))
    found.push(yield operators[operator]!(...args, context))
  }
  return isTruthy(toValue(found[0]), context)
}

export class StrictIf extends IfTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, string> {
    const { renderer } = this.liquid
    for (const { value, templates } of this.branches) {
      if (!(yield evaluates(value, context))) continue
      yield renderer.renderTemplates(templates, context, emitter)
      return
    }
    yield renderer.renderTemplates(this.elseTemplates ?? [], context, emitter)
  }
}

export class StrictUnless extends UnlessTag {
  override *render(context: Context, emitter: Emitter): Steps<void> {
    const { renderer } = this.liquid
    for (const [at, { value, templates }] of this.branches.entries()) {
      // The first branch belongs to `unless`; the others to `elsif`.
      if ((yield evaluates(value, context)) === (at === 0)) continue
      yield renderer.renderTemplates(templates, context, emitter)
      return
    }
    yield renderer.renderTemplates(this.elseTemplates, context, emitter)
  }
}

/** The rendering register with the last content written by `ifchanged`. */
const WRITTEN = 'ifchanged'

export class IfChanged extends Tag {
  readonly #templates: Template[] = []

  constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, rest, liquid)
    parser
      .parseStream(rest)
      .on('tag:endifchanged', function () {
        this.stop()
      })
      .on('template', (template: Template) => this.#templates.push(template))
      .on('end', () => {
        throw new Error(`tag ${token.getText()} not closed`)
      })
      .start()
  }

  override *render(context: Context, emitter: Emitter): Steps<void> {
    const content = yield this.liquid.renderer.renderTemplates(this.#templates, context)
    if (context.getRegister(WRITTEN) === content) return
    context.setRegister(WRITTEN, content)
    emitter.write(content)
  }
}
