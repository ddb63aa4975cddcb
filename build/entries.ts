/** All exports of the library. The types are written once from here, so that both entries share them. */
export * from '../src/contract/index.js';
export * from '../src/index.js';
