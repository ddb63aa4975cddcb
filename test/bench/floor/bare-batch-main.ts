/** Runs a bare batch as a program: `node bare-batch-main.mjs FILE`, which `serialize` of node:v8 wrote. */
import { readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { openBareBatch } from './bare-batch.js';

openBareBatch(deserialize(readFileSync(process.argv[2] as string)))();
