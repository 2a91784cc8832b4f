/** Names in SQL. */

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Position in the log: `0/16B3748` ↔ a number. */
export const positionNumber = (position: string): bigint => {
  const [high = '0', low = '0'] = position.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

export const positionText = (position: bigint): string =>
  `${(position >> 32n).toString(16).toUpperCase()}/${(position & 0xffffffffn).toString(16).toUpperCase()}`
