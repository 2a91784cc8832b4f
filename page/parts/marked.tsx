/** Highlights matches, which the server marks with private-use characters. Never renders HTML. */

/** Private-use characters. In a text that contains them the highlighting is wrong, without further harm. */
export const MARK_START = '\uE0F1'
export const MARK_END = '\uE0F2'

export function Marked({ text }: { readonly text: string }) {
  const [before = '', ...pieces] = text.split(MARK_START)
  return (
    <>
      {before.replaceAll(MARK_END, '')}
      {pieces.map((piece) => {
        const [match, ...after] = piece.split(MARK_END)
        return (
          <>
            <mark>{match}</mark>
            {after.join('')}
          </>
        )
      })}
    </>
  )
}

export const unmarked = (text: string): string => text.replaceAll(MARK_START, '').replaceAll(MARK_END, '')
