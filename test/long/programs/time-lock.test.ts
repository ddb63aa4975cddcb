/** A foreign multisig with a time lock: execute waits for a short one, and reports the end of a long one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_PROGRAM } from '../../../src/chain/programs.js';
import { transfer } from '../../../src/chain/small-programs.js';
import { ALL_PERMISSIONS, PERMISSION } from '../../../src/chain/squads/accounts.js';
import {
  associatedTokenAddress,
  multisigAddress,
  vaultAddress,
} from '../../../src/chain/squads/addresses.js';
import { multisigCreateV2 } from '../../../src/chain/squads/builders.js';
import {
  createAssociatedTokenAccountIdempotent,
  transferChecked,
} from '../../../src/chain/tokens/instructions.js';
import { namedSigner, TOKEN_DECIMALS, treasury } from '../../support/chain.js';
import { onLedger, SQUADS_TREASURY, type TestProject, testProject } from '../../support/registration.js';
import { emptyDirectory, flywheel } from '../../support/spawn.js';
import { closeTestNodes, startTestNode } from '../../test-cluster/node.js';

let project: TestProject;
let home: string;

beforeEach(async () => {
  project = await testProject();
  home = emptyDirectory();
});
afterEach(async () => {
  await closeTestNodes();
});

/** The owner can only vote; the vault has tokens. */
async function lockedMultisig(timeLockSeconds: number): Promise<string> {
  const { owner, operator, token, directory } = project;
  const createKey = namedSigner('the key of a multisig with a time lock');
  const multisig = multisigAddress(createKey.address).address;
  const creation = multisigCreateV2({
    ...{ createKey: createKey.address, creator: operator.address, treasury: SQUADS_TREASURY },
    ...{ configAuthority: null, threshold: 2, timeLockSeconds, rentCollector: operator.address },
    members: [
      { key: owner.address, permissions: PERMISSION.vote },
      { key: operator.address, permissions: ALL_PERMISSIONS },
    ],
  });
  await onLedger(directory, [operator, createKey], [creation]);
  const vault = vaultAddress(multisig, 0).address;
  const common = { mint: token.mint, tokenProgram: TOKEN_PROGRAM };
  await onLedger(
    directory,
    [treasury],
    [
      transfer({ from: treasury.address, to: vault, lamports: 10_000_000n }),
      createAssociatedTokenAccountIdempotent({ ...common, payer: treasury.address, owner: vault }),
      transferChecked({
        ...{ ...common, decimals: TOKEN_DECIMALS, amount: 10n ** 9n, owner: treasury.address },
        from: token.account,
        to: associatedTokenAddress(vault, token.mint, TOKEN_PROGRAM),
      }),
    ],
  );
  return multisig;
}

async function runBatch(timeLockSeconds: number) {
  const multisig = await lockedMultisig(timeLockSeconds);
  const node = await startTestNode({
    directory: project.directory,
    ...{ pace: 'clock', slotMs: 50, confirmedAfter: 1, finalizedAfter: 4 },
  });
  const run = (...words: string[]) =>
    flywheel({ home, env: { FLYWHEEL_DATA_DIR: join(home, 'data') } }, ...words, '--json', '--yes');
  const registered = await run(
    ...['register', '--cluster', node.url, '--mint', project.token.mint, '--owner', project.owner.address],
    ...['--operator-keypair', project.files.operator, '--multisig', multisig],
  );
  expect(registered.stderr).toContain(`executed ${timeLockSeconds} s after both`);
  const file = join(home, 'pipelines.json');
  const pipeline = { type: 'WATCH_AD', payload: {}, actions: [{ action: 'BURN', amount: 4 }] };
  writeFileSync(file, JSON.stringify({ pipelines: [pipeline] }));
  return { run, ended: await run('batch', 'run', file, '--keypair', project.files.owner) };
}

describe('a multisig with a time lock', () => {
  it('has its batches executed once a short one is over', async () => {
    const { ended } = await runBatch(2);
    expect([ended.exit, ended.stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(ended.stdout).result).toMatchObject({ total: 1, totalSuccessful: 1 });
  }, 120_000);

  it('keeps them approved under a long one, and says until when', async () => {
    const { run, ended } = await runBatch(7_200);
    expect(ended.exit).toBe(6);
    expect(ended.stderr).toMatch(/time lock of the multisig ends at \d{4}-\d\d-\d\dT\d\d:\d\d/);
    expect(JSON.parse((await run('batch', 'current')).stdout)).toMatchObject({ status: 'FINALIZED' });
  }, 120_000);
});
