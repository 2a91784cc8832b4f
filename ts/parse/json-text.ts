/**
 * JSON of an object that stays text, and stands where the object would.
 *
 * Settings of a hundred thousand synonyms take 2 MB as text, which threads copy in a millisecond, and 20 MB as an object,
 * which the thread that answers requests would make and write out for 50 to 100 ms each time.
 */
export class JsonText {
  readonly [member: string]: unknown
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

/** JSON of an object. Its members that are `JsonText` are written as they are, those inside of members are not found. */
export function jsonOf(value: object): string {
  const members = Object.entries(value)
  if (!members.some(([, member]) => member instanceof JsonText)) return JSON.stringify(value)
  const written = members
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => {
      return `${JSON.stringify(name)}:${member instanceof JsonText ? member.json : JSON.stringify(member)}`
    })
  return `{${written.join(',')}}`
}
