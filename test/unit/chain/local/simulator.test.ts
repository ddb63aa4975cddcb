/** The simulator of the virtual machine: many steps share a run, and a failure is located at its step. */
import { Keypair } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { AccountState } from '../../../../src/chain/account.js';
import { createSimulator } from '../../../../src/chain/local/simulator.js';
import { TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { decodeMint, decodeTokenAccount } from '../../../../src/chain/tokens/accounts.js';
import { burnChecked } from '../../../../src/chain/tokens/instructions.js';
import { type Address, address } from '../../../../src/values/address.js';
import { mintData, tokenAccountData } from '../../../support/token-accounts.js';

const newAddress = (): Address => address(Keypair.generate().publicKey.toBase58());
const [MINT, OWNER, ACCOUNT] = [newAddress(), newAddress(), newAddress()];
const HELD = 70n;

function accounts(): Map<Address, AccountState | null> {
  const of = { owner: TOKEN_PROGRAM, lamports: 10_000_000n, executable: false };
  const mint = { supply: 1_000n, decimals: 0, mintAuthority: null, freezeAuthority: null, extensions: [] };
  const held = { mint: MINT, owner: OWNER, amount: HELD, state: 1, extensions: [] };
  const noOther = { delegate: null, delegatedAmount: 0n, closeAuthority: null };
  return new Map<Address, AccountState | null>([
    [MINT, { ...of, data: mintData(mint) }],
    [ACCOUNT, { ...of, data: tokenAccountData({ ...held, ...noOther }) }],
    [OWNER, null],
    [TOKEN_PROGRAM, null],
  ]);
}

const burns = (amounts: readonly bigint[]) =>
  amounts.map((amount) => [
    burnChecked({
      ...{ mint: MINT, account: ACCOUNT, owner: OWNER, tokenProgram: TOKEN_PROGRAM },
      ...{ amount, decimals: 0 },
    }),
  ]);

function run(amounts: readonly bigint[]) {
  const { failure, account } = createSimulator().run(accounts(), burns(amounts));
  return {
    failure,
    supply: decodeMint(account(MINT))?.supply,
    held: decodeTokenAccount(account(ACCOUNT))?.amount,
  };
}

describe('a trial of many steps', () => {
  it('leaves what all of them together leave', () => {
    expect(run(new Array<bigint>(70).fill(1n))).toEqual({ failure: null, supply: 930n, held: 0n });
  });

  it.each([0, 1, 23, 24, 40, 59])('says that step %i failed, and keeps what those before it did', (at) => {
    const amounts = new Array<bigint>(60).fill(1n);
    amounts[at] = 71n;
    const { failure, supply, held } = run(amounts);
    expect(failure).toEqual({
      step: at,
      reason: expect.stringMatching(/^instruction 1: .*insufficient funds/),
    });
    expect([supply, held]).toEqual([1_000n - BigInt(at), HELD - BigInt(at)]);
  });
});
