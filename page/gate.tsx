/** Asks for a key. */
import { useState } from 'preact/hooks'
import { type Failure, storedKey } from './api/client.ts'
import { Problem } from './parts/basics.tsx'
import { Brand } from './parts/brand.tsx'

export function Gate(props: {
  readonly failure: Failure | null
  readonly enter: (key: string, indexUid: string) => void
  readonly leave: (() => void) | null
}) {
  const { failure, enter, leave } = props
  const [key, setKey] = useState(storedKey)
  const [indexUid, setIndexUid] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    enter(key.trim(), indexUid.trim())
  }
  return (
    <main class="gate">
      <Brand />
      <div>
        <h1>{leave === null ? 'This instance needs a key' : 'Change the key'}</h1>
        <p class="soft">It stays in this tab and is forgotten when you close it.</p>
      </div>
      {failure !== null && (
        <Problem
          failure={failure}
          advice="The key is unknown, has expired, or may not list indexes. Enter another one here."
        />
      )}
      <form onSubmit={submit}>
        <label class="field">
          Key
          <input
            type="password"
            autocomplete="off"
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
            ref={(element) => {
              if (element !== null && document.activeElement === document.body) element.focus()
            }}
          />
        </label>
        <label class="field">
          Index, for a key that may search but not list indexes
          <input
            autocomplete="off"
            spellcheck={false}
            value={indexUid}
            onInput={(event) => setIndexUid(event.currentTarget.value)}
          />
        </label>
        <div class="row">
          <button type="submit" class="main">
            Continue
          </button>
          {leave !== null && (
            <button type="button" onClick={leave}>
              Back
            </button>
          )}
          {storedKey() !== '' && (
            <button type="button" class="plain" onClick={() => enter('', '')}>
              Forget the key
            </button>
          )}
        </div>
      </form>
    </main>
  )
}
