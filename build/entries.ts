/** Everything that the library exports: its types are written once, so that both entries mean the same by them. */
export * from '../src/contract/index.js';
export * from '../src/index.js';
