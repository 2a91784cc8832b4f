/** Other running instances: their HTTP client, exports to them, migrations between them, comparisons of their answers. */
export * from './compare/differences.js'
export * from './compare/queries.js'
export { exporterOver } from './export/index.js'
export * from './migrate/inventory.js'
export * from './migrate/left-out.js'
export * from './migrate/migration.js'
export * from './migrate/verify.js'
export * from './peer/index.js'
