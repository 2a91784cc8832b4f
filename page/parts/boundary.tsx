/** Shows an error of the page instead of an empty page. */
import { Component, type ComponentChildren } from 'preact'
import { Problem } from './basics.tsx'

interface State {
  readonly error: Error | null
}

export class Boundary extends Component<{ readonly children: ComponentChildren }, State> {
  override state: State = { error: null }

  static override getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <main class="gate">
        <h1>The page has an error</h1>
        <Problem failure={{ code: '', message: error.message }} />
        {/* The state in the address may be what broke it. */}
        <a href="/">Reload</a>
      </main>
    )
  }
}
