/** The amounts that an unknown transaction took from a project. */
import { describe, expect, it } from 'vitest';
import type { TransactionRecord } from '../../../../src/chain/chain.js';
import { SQUADS_PROGRAM, TOKEN_2022_PROGRAM } from '../../../../src/chain/programs.js';
import { burnChecked, transferChecked } from '../../../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../../../src/chain/transaction/message.js';
import { compileLegacyMessage, unsigned } from '../../../../src/chain/transaction/wire.js';
import { whatMoved } from '../../../../src/engine/unknown-transactions.js';
import { namedAddress } from '../../../support/oracle.js';

const [mint, vault, burns, operator, owner, recipient] = [
  ...['mint', 'vault', 'burns', 'operator', 'owner', 'recipient'].map(namedAddress),
] as [never, never, never, never, never, never];
const ACCOUNTS = {
  ...{ burnWallet: namedAddress('burn wallet'), burnTokenAccount: burns, mintAddress: mint },
  ...{ operator, vaultTokenAccount: vault },
};
const COMMON = { mint, decimals: 0, tokenProgram: TOKEN_2022_PROGRAM, owner };
const burn = (account: never, amount: bigint) => burnChecked({ ...COMMON, account, amount });
const send = (from: never, to: never, amount: bigint) => transferChecked({ ...COMMON, from, to, amount });

/** An instruction of the token program that does not check the mint, or checks its fee. */
const plain = (number: number, amount: bigint) => ({
  program: TOKEN_2022_PROGRAM,
  accounts: [vault, mint, recipient].map((address) => ({ address, signer: false, writable: true })),
  data: Buffer.from([number, Number(amount), 0, 0, 0, 0, 0, 0, 0]),
});

type Changes = readonly (readonly [never, bigint])[];
type Inner = readonly Instruction[] | undefined;

/** @param changes - base units by token account. */
async function moved(changes: Changes, inner: Inner) {
  const message = compileLegacyMessage({
    ...{ payer: operator, blockhash: namedAddress('blockhash') },
    instructions: [{ program: SQUADS_PROGRAM, accounts: [], data: new Uint8Array() }],
  });
  const record = {
    ...{ signature: 'one', wire: unsigned(message), slot: 1n, blockTimeMs: 0, error: null },
    ...{ logs: [], feeLamports: 5_000n, computeUnits: 0n },
    tokenChanges: changes.map(([account, gain]) => ({
      ...{ account, mint, before: 100n, after: 100n + gain },
    })),
    innerCalls: inner?.map(({ accounts, ...call }) => ({
      ...call,
      accounts: accounts.map(({ address }) => address),
    })),
  } as unknown as TransactionRecord;
  const found = await whatMoved({ lookUp: async () => [record] }, ACCOUNTS, 'one');
  return found && [found.burned, found.airdropped];
}

const CASES: readonly (readonly [name: string, Changes, Inner, amounts: bigint[] | undefined])[] = [
  ['a burn', [[vault, -3n]], [burn(vault, 3n)], [3n, 0n]],
  [
    'an airdrop',
    [
      [vault, -5n],
      [recipient, 5n],
    ],
    [send(vault, recipient, 5n)],
    [0n, 5n],
  ],
  [
    'an airdrop of which the mint withholds a fee',
    [
      [vault, -10n],
      [recipient, 5n],
    ],
    [send(vault, recipient, 10n)],
    [0n, 10n],
  ],
  [
    'all that was not burned, where another instruction sends',
    [
      [vault, -13n],
      [recipient, 5n],
    ],
    [plain(8, 3n), plain(26, 10n)],
    [3n, 10n],
  ],
  [
    'both, and others send more in',
    [
      [vault, 1n],
      [owner, -9n],
      [recipient, 5n],
    ],
    [burn(vault, 3n), send(vault, recipient, 5n), send(owner, vault, 9n)],
    [3n, 5n],
  ],
  [
    'nothing where it moves between own accounts',
    [
      [vault, -4n],
      [burns, 4n],
    ],
    [send(vault, burns, 4n)],
    undefined,
  ],
  [
    'nothing where others alone move theirs',
    [
      [vault, 1n],
      [owner, -6n],
      [recipient, 5n],
    ],
    [send(owner, vault, 1n), send(owner, recipient, 5n)],
    undefined,
  ],
];

describe('what a lost transaction has taken', () => {
  it.each(CASES)('is %s', async (_name, changes, inner, amounts) => {
    expect(await moved(changes, inner)).toEqual(amounts);
  });

  it('is not said without the inner instructions', async () => {
    await expect(moved([[vault, -8n]], undefined)).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  });
});
