/** A batch that is tried out passes only when every balance changes by what its pipelines say, and no other way. */
import { describe, expect, it } from 'vitest';
import {
  pipelineContent,
  pipelineInstructions,
  type SourcePipeline,
} from '../../../src/actions/pipelines.js';
import { simulateBatch } from '../../../src/approval/simulate.js';
import type { AccountState } from '../../../src/chain/account.js';
import type { Flywheel } from '../../../src/chain/flywheel.js';
import { createSimulator } from '../../../src/chain/local/simulator.js';
import { TOKEN_2022_PROGRAM } from '../../../src/chain/programs.js';
import type { Simulator } from '../../../src/chain/simulator.js';
import { associatedTokenAddress } from '../../../src/chain/tokens/addresses.js';
import type { Address } from '../../../src/values/address.js';
import { describeAccounts } from '../../support/batch-checks.js';
import {
  type Accounts,
  accountsOf,
  batchState,
  flywheel,
  goodInstructions,
  pipelines,
  readerOf,
} from '../../support/batch-on-chain.js';
import { namedAddress } from '../../support/oracle.js';
import { type Extension, mintAccount, tokenAccount, wallet } from '../../support/token-accounts.js';

/** Base units: two burns, and two airdrops. */
const BURNED = 12_345_679_500_000n;
const AIRDROPPED = 2_000_001n;
const [SUPPLY, HELD] = [1_000_000_000_000_000n, 100_000_000_000_000n];
const machine = createSimulator();

function withTokens(
  accounts: Accounts,
  { mint, vault, vaultTokenAccount, tokenProgram, decimals }: Flywheel,
  extensions: Extension[] = [],
): Accounts {
  const authority = { mintAuthority: null, freezeAuthority: null };
  accounts.set(mint, mintAccount({ ...authority, tokenProgram, decimals, supply: SUPPLY, extensions }));
  accounts.set(
    vaultTokenAccount,
    tokenAccount({
      ...{ tokenProgram, mint, owner: vault, amount: HELD, delegate: null, delegatedAmount: 0n },
      ...{ state: 1, closeAuthority: null, extensions: [] },
    }),
  );
  return accounts.set(vault, wallet(10_000_000_000n));
}

async function simulate(accounts: Accounts, as: Flywheel = flywheel, simulator: Simulator = machine) {
  return simulateBatch(readerOf(accounts), simulator, await describeAccounts(accounts), as);
}
const honest = () => withTokens(accountsOf(batchState()), flywheel);

/** The machine, with one account in the end as `change` makes it. */
const machineThat = (account: Address, change: (found: AccountState) => AccountState): Simulator => ({
  run: (before, steps) => {
    const run = machine.run(before, steps);
    const changed = (address: Address) => {
      const found = run.account(address);
      return address === account && found !== null ? change(found) : found;
    };
    return { failure: run.failure, account: changed };
  },
});

/** Base units at the offset where a mint keeps its supply (36) and a token account its amount (64). */
const less =
  (offset: 36 | 64) =>
  (found: AccountState): AccountState => {
    const data = Buffer.from(found.data as Uint8Array);
    data.writeBigUInt64LE(data.readBigUInt64LE(offset) - 1n, offset);
    return { ...found, data };
  };

describe('simulateBatch', () => {
  it('says what changes', async () => {
    expect(await simulate(honest())).toEqual({
      supply: { before: SUPPLY, after: SUPPLY - BURNED },
      vaultTokens: { before: HELD, after: HELD - BURNED - AIRDROPPED },
      vaultLamports: { before: 10_000_000_000n, after: expect.any(BigInt) },
    });
  });

  it.each([
    ['the supply', flywheel.mint, 36, 'supply'],
    ['the vault', flywheel.vaultTokenAccount, 64, `token account ${flywheel.vaultTokenAccount}`],
  ] as const)('refuses when %s loses one base unit more', async (_name, account, offset, named) => {
    await expect(simulate(honest(), flywheel, machineThat(account, less(offset)))).rejects.toMatchObject({
      code: 'ERR_APPROVAL_REFUSED',
      message: expect.stringContaining(`the ${named} would change by`),
    });
  });

  it('refuses when a recipient gets one base unit less', async () => {
    const { mint, tokenProgram } = flywheel;
    const account = associatedTokenAddress(namedAddress('alice'), mint, tokenProgram);
    await expect(simulate(honest(), flywheel, machineThat(account, less(64)))).rejects.toMatchObject({
      message: expect.stringContaining(
        `the token account ${account} would change by 1999999 base units, its pipelines say 2000000`,
      ),
    });
  });

  it('counts what is withheld as a fee from a recipient as received', async () => {
    const { vault, mint } = flywheel;
    const vaultTokenAccount = associatedTokenAddress(vault, mint, TOKEN_2022_PROGRAM);
    const as: Flywheel = { ...flywheel, tokenProgram: TOKEN_2022_PROGRAM, vaultTokenAccount };
    const instructions = pipelines.map((pipeline) => [
      ...pipelineInstructions(pipelineContent(pipeline, as.decimals), as),
    ]);
    // A fee of one percent: authorities, what is withheld, and twice the epoch, the highest fee and the rate.
    const rate = Buffer.alloc(18);
    rate.writeBigUInt64LE(1n << 60n, 8);
    rate.writeUInt16LE(100, 16);
    const fee = { type: 1, data: Buffer.concat([Buffer.alloc(72), rate, rate]) };
    const accounts = withTokens(accountsOf(batchState(instructions)), as, [fee]);
    expect((await simulate(accounts, as)).vaultTokens.after).toBe(HELD - BURNED - AIRDROPPED);
  });

  it('names the transaction that would fail', async () => {
    const [first, second] = goodInstructions();
    const source = { ...(pipelines[2] as SourcePipeline), actions: [{ action: 'BURN', amount: 99_999_999 }] };
    const tooMuch = pipelineContent(source as SourcePipeline, flywheel.decimals);
    const state = batchState([first ?? [], second ?? [], [...pipelineInstructions(tooMuch, flywheel)]]);
    await expect(simulate(withTokens(accountsOf(state), flywheel))).rejects.toMatchObject({
      code: 'ERR_APPROVAL_REFUSED',
      message: expect.stringContaining('Transaction 3 of the batch would fail: '),
    });
  });
});
