/** Here is a document, which text or vector stands for it? */
export {
  checkFragment,
  cutToBytes,
  documentContext,
  renderFragment,
  renderText,
  type TemplateContext,
  TemplateError,
} from './templates.js'
