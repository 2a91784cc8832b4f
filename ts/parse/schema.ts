/** A JSON Schema (2020-12), as used by OpenAPI 3.1. Types generate theirs, so that it agrees with validation. */
export interface Schema {
  readonly [keyword: string]: SchemaValue
}
export type SchemaValue = string | number | boolean | null | Schema | readonly SchemaValue[]

/** A schema shared by several requests. The OpenAPI document defines it once and refers to it by `name`. */
export function namedSchema(name: string, schema: Schema): Schema {
  return { title: name, ...schema }
}

/** Extends a schema to allow null. */
export function orNull(schema: Schema): Schema {
  const { type, title, enum: values, ...rest } = schema
  if (typeof type !== 'string' || title !== undefined) {
    return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] }
  }
  const withNull = Array.isArray(values) ? { enum: [...values, null] } : {}
  return { type: [type, 'null'], ...withNull, ...rest }
}
