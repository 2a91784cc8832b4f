/** The dialog with a search as curl, JavaScript and Python. */
import { useState } from 'preact/hooks'
import { storedKey } from '../api/client.ts'
import { Dialog, Tabs } from '../parts/basics.tsx'
import { type Lane, plainBody } from './lane.ts'
import { type Language, languages, snippet } from './snippets.ts'

export function CopyDialog(props: { readonly lane: Lane; readonly q: string; readonly close: () => void }) {
  const { lane, q, close } = props
  const [language, setLanguage] = useState<Language>('curl')
  const [said, setSaid] = useState('')
  const hasKey = storedKey() !== ''
  const text = snippet(language, lane.index, plainBody(lane, q), hasKey)
  const choose = (name: Language): void => {
    setLanguage(name)
    setSaid('')
  }
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('Copied')
    } catch {
      // Browsers allow clipboard access only for https and localhost.
      setSaid('The browser does not allow copying. Select the text instead.')
    }
  }
  return (
    <Dialog title="This search in code" close={close}>
      <Tabs label="Language" tabs={languages} chosen={language} choose={choose}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
        <pre class="code" tabIndex={0}>
          {text}
        </pre>
        <div class="row">
          <button type="button" class="main" onClick={copy}>
            Copy
          </button>
          <span role="status" class="soft small">
            {said || (hasKey ? 'The code reads the key from SIFTD_KEY' : '')}
          </span>
        </div>
      </Tabs>
    </Dialog>
  )
}
