/** The amounts that an unknown transaction took from a project. */
import { describe, expect, it } from 'vitest';
import type { TransactionRecord } from '../../../../src/chain/chain.js';
import { SQUADS_PROGRAM } from '../../../../src/chain/programs.js';
import { compileLegacyMessage, unsigned } from '../../../../src/chain/transaction/wire.js';
import { whatMoved } from '../../../../src/engine/unknown-transactions.js';
import { namedAddress } from '../../../support/oracle.js';

const [mint, vault, burns, operator, owner, recipient] = [
  ...['mint', 'vault', 'burns', 'operator', 'owner', 'recipient'].map(namedAddress),
] as [never, never, never, never, never, never];
const ACCOUNTS = {
  token: { burnWallet: namedAddress('burn wallet'), burnTokenAccount: burns, mintAddress: mint },
  flywheel: { operator, vaultTokenAccount: vault },
};

/** @param changes - base units by token account. */
async function moved(changes: readonly (readonly [never, bigint])[], program = SQUADS_PROGRAM) {
  const message = compileLegacyMessage({
    ...{ payer: operator, blockhash: namedAddress('blockhash') },
    instructions: [{ program, accounts: [], data: new Uint8Array() }],
  });
  const record = {
    ...{ signature: 'one', wire: unsigned(message), slot: 1n, blockTimeMs: 0, error: null },
    ...{ logs: [], feeLamports: 5_000n, computeUnits: 0n },
    tokenChanges: changes.map(([account, gain]) => ({
      ...{ account, mint, before: 100n, after: 100n + gain },
    })),
  } as unknown as TransactionRecord;
  const found = await whatMoved({ lookUp: async () => [record] }, ACCOUNTS, 'one');
  return found && [found.burned, found.airdropped];
}

describe('what a lost transaction has taken', () => {
  it.each([
    ['a burn', [[vault, -3n]], [3n, 0n]],
    [
      'an airdrop',
      [
        [vault, -5n],
        [recipient, 5n],
      ],
      [0n, 5n],
    ],
    [
      'both',
      [
        [vault, -8n],
        [recipient, 5n],
      ],
      [3n, 5n],
    ],
    [
      'both, and others send some in',
      [
        [vault, -4n],
        [owner, -4n],
        [recipient, 5n],
      ],
      [3n, 5n],
    ],
    [
      'both, and others send in more than that',
      [
        [vault, 1n],
        [owner, -9n],
        [recipient, 5n],
      ],
      [3n, 5n],
    ],
    [
      'nothing',
      [
        [vault, 4n],
        [owner, -4n],
      ],
      undefined,
    ],
  ] as [string, [never, bigint][], bigint[] | undefined][])('is %s', async (_name, changes, amounts) => {
    expect(await moved(changes)).toEqual(amounts);
  });

  it('is nothing where others alone have moved theirs', async () => {
    const changes = [
      [vault, 1n],
      [owner, -6n],
      [recipient, 5n],
    ] as [never, bigint][];
    expect(await moved(changes, namedAddress('another program'))).toBeUndefined();
  });
});
