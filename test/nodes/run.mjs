/** Starts the tests of this folder: `npm run ci:nodes`, with `-- --all` for every suite under every node. */
import { spawnSync } from 'node:child_process';

const words = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.nodes.config.ts',
    ...words.filter((word) => word !== '--all'),
  ],
  { stdio: 'inherit', env: { ...process.env, ...(words.includes('--all') ? { ALL_SUITES: '1' } : {}) } },
);
process.exitCode = status ?? 1;
