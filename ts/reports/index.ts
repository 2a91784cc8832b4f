/** Here is what was counted: what does the operator's collector get to know, and when? */
export { batchesOf, nested, type Traits } from './batches.js'
export { deliverTo } from './deliver.js'
export {
  type Deliver,
  openReporter,
  type ReportClock,
  type Reporter,
  type ReporterSetup,
} from './reporter.js'
export { type Instance, traitsOf } from './traits.js'
