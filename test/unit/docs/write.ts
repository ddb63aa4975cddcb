/** `npm run docs`: writes the generated documents. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { generatedDocs } from './generated.js';

for (const { path, text } of await generatedDocs()) writeFileSync(resolve(path), text);
