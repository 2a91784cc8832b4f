/** Archive forms of dynamic search rules and of changes of rules. */
import type { Action, Conditions, Rule, RulePatch } from '../../tasks/index.js'
import {
  boolean,
  choice,
  date,
  defaulted,
  type Form,
  list,
  nullable,
  number,
  object,
  optional,
  record,
  text,
  uid,
} from './forms.js'

/** The folder in which a dump holds dynamic search rules, in the form of index documents. Source: the API. */
export const RULES_INDEX = '.meili_dsr'

type Given<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> }

const conditions = record({
  time: optional(record({ start: optional(date), end: optional(date) })),
  query: optional(record({ isEmpty: optional(boolean), words: optional(text) })),
  filter: optional(record({ values: object })),
}) as Form<Conditions>

const actions = list(
  record({
    selector: record({ indexUid: optional(text), id: text }),
    action: record({ type: choice(['pin'] as const), position: uid }),
  }) as Form<Action>,
)

/** A rule as a document of that folder. */
export const ruleForm = record<Rule>({
  uid: text,
  description: nullable(text),
  lastUpdatedAt: date,
  precedence: nullable(number),
  active: boolean,
  conditions: defaulted(conditions, {}),
  actions: defaulted(actions, []),
})

const changes: { readonly [K in keyof RulePatch]-?: Form<Given<RulePatch>[K]> } = {
  description: text,
  precedence: number,
  active: boolean,
  conditions,
  actions,
}

/** A change of a rule. Distinguishes absent members from null. */
export const rulePatchForm: Form<RulePatch> = {
  write: (patch) => mapPresent(patch, (form, value) => nullable(form).write(value)),
  read: (value, at) =>
    mapPresent(object.read(value, at), (form, one, key) => nullable(form).read(one, `${at}.${key}`)),
}

function mapPresent(
  from: object,
  through: (form: Form<unknown>, value: unknown, key: string) => unknown,
): RulePatch {
  const present = Object.entries(changes).filter(([key]) => Object.hasOwn(from, key))
  return Object.fromEntries(
    present.map(([key, form]) => [key, through(form as Form<unknown>, from[key as keyof typeof from], key)]),
  )
}
