export { judge } from './judge.js';
export type * from './verdict-types.js';
