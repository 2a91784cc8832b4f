/** The page at `/` for people with a browser: its files, and how they are served. */
export { pageRoutes, servePage } from './page.js'
