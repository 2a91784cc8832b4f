/** The calls to the rendering thread, and its answers. */
import { checkFragment, renderFragment, renderText, type TemplateContext } from './templates.js'

export type RenderCall =
  /** Parses every template of a fragment. A text is a fragment with one template. */
  | { readonly kind: 'check'; readonly fragment: unknown }
  | { readonly kind: 'fragment'; readonly fragment: unknown; readonly context: TemplateContext }
  | {
      readonly kind: 'text'
      readonly template: string
      readonly context: TemplateContext
      /** Maximum bytes of the text, which is cut; null: not cut. */
      readonly bytesMax: number | null
    }

export type RenderAnswer =
  | { readonly value: unknown }
  | { readonly failure: { readonly when: 'parsing' | 'rendering'; readonly reason: string } }
  | { readonly fault: string }

/** @throws TemplateError */
export async function rendered(call: RenderCall): Promise<unknown> {
  switch (call.kind) {
    case 'check':
      return checkFragment(call.fragment)
    case 'fragment':
      return renderFragment(call.fragment, call.context)
    case 'text':
      return renderText(call.template, call.context, call.bytesMax)
  }
}
