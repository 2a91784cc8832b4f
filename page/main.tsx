/** The page at `/`: searches, indexes, tasks and health of the instance that serves it. */
import { render } from 'preact'
import { App } from './app.tsx'
import { Boundary } from './parts/boundary.tsx'

const root = document.getElementById('page')
if (root !== null)
  render(
    <Boundary>
      <App />
    </Boundary>,
    root,
  )
