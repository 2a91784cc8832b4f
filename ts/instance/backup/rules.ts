/** Archive forms of dynamic search rules and of changes of rules. */
import type { FilterValue } from '../../engine/index.js'
import {
  type Actions,
  type Conditions,
  compactActions,
  type PinAction,
  presentMembers,
  type Rule,
  type RulePatch,
  type ScaleAction,
} from '../../tasks/index.js'
import { unexpected } from './fields.js'
import {
  boolean,
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
  unchanged,
} from './forms.js'

/** The folder in which a dump holds dynamic search rules, in the form of index documents. Source: the API. */
export const RULES_INDEX = '.meili_dsr'

type Given<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> }

const conditions = record({
  time: optional(record({ start: optional(date), end: optional(date) })),
  query: optional(record({ isEmpty: optional(boolean), words: optional(text) })),
  filter: optional(record({ values: object })),
}) as Form<Conditions>

const filter = unchanged((value, at): FilterValue => {
  if (typeof value === 'string' || Array.isArray(value)) return value as FilterValue
  throw unexpected(value, at, 'a filter')
})
const actionLists = record({
  pin: optional(list(record({ id: text, position: uid, indexUid: optional(text) }) as Form<PinAction>)),
  scale: optional(
    list(
      record({
        weight: number,
        ids: optional(list(text)),
        filter: optional(filter),
        indexUid: optional(text),
      }) as Form<ScaleAction>,
    ),
  ),
}) as Form<Actions>
const actions: Form<Actions> = {
  write: actionLists.write,
  read: (value, at) => compactActions(actionLists.read(value, at)),
}

/** A rule as a document of that folder. */
const presentRuleForm = record<Rule>({
  uid: text,
  description: nullable(text),
  // Rules before version 1.51 have no date.
  lastUpdatedAt: defaulted(date, '1970-01-01T00:00:00Z'),
  precedence: nullable(number),
  active: defaulted(boolean, true),
  conditions: defaulted(conditions, {}),
  actions: defaulted(actions, {}),
})
/** Like `presentRuleForm`. Rules of older versions are converted. */
export const ruleForm: Form<Rule> = {
  write: presentRuleForm.write,
  read: (value, at) => presentRuleForm.read(presentMembers(object.read(value, at)), at),
}

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
    mapPresent(presentMembers(object.read(value, at)), (form, one, key) =>
      nullable(form).read(one, `${at}.${key}`),
    ),
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
