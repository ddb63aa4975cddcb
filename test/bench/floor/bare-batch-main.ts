/** Runs a bare batch as a program: `node bare-batch-main.mjs FILE`. */
import { readFileSync } from 'node:fs';
import { openBareBatch } from './bare-batch.js';

openBareBatch(JSON.parse(readFileSync(process.argv[2] as string, 'utf8')))();
