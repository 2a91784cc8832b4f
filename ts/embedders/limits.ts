/** Characters of template text that are still parsed. */
export const TEMPLATE_CHARS_MAX = 1_000_000
/** Milliseconds one rendering may take: a template may loop over a document many times. */
export const RENDER_MS_MAX = 1000
/** What one rendering may allocate, in the units liquidjs counts: about one per character or element. */
export const RENDER_MEMORY_MAX = 50_000_000
