/** Here is a request, what does it ask for, or what is its first mistake? The general part is the room `parse`. */
export * from '../../parse/index.js'
export * from './values.js'
