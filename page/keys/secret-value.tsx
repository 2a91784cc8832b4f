/** A secret that is masked until it is asked for. */
import { useState } from 'preact/hooks'

const MASK = '••••••••'

export function SecretValue({ value, label }: { readonly value: string; readonly label: string }) {
  const [isShown, setIsShown] = useState(false)
  const [said, setSaid] = useState('')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value)
      setSaid('Copied')
    } catch {
      // Browsers allow clipboard access only for https and localhost.
      setIsShown(true)
      setSaid('Select the text to copy it')
    }
  }
  return (
    <span class="row">
      <code class="wrap">{isShown ? value : MASK}</code>
      <button type="button" class="plain" aria-label={`Copy ${label}`} onClick={copy}>
        Copy
      </button>
      <button
        type="button"
        class="plain"
        aria-label={`${isShown ? 'Hide' : 'Show'} ${label}`}
        onClick={() => setIsShown(!isShown)}
      >
        {isShown ? 'Hide' : 'Show'}
      </button>
      <span role="status" class="soft small">
        {said}
      </span>
    </span>
  )
}
