/** `npm run docs`: writes the generated parts of the README. */
import { readFileSync, writeFileSync } from 'node:fs';
import { README, renderReadme } from './readme.js';

writeFileSync(README, await renderReadme(readFileSync(README, 'utf8')));
