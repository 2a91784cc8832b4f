/** Reports usage to the operator's collector. */
export { batchesOf, type Traits } from './batches.js'
export { deliverTo } from './deliver.js'
export { type Deliver, openReporter, type ReportClock, type Reporter } from './reporter.js'
export { type ReportedInstance, traitsOf } from './traits.js'
