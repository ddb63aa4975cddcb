/** A proof, and what was moved for it: proven from instructions of transactions that succeeded, or said not to be. */
import { describe, expect, it } from 'vitest';
import { pipelineContent, pipelineInstructions } from '../../../src/actions/pipelines.js';
import type { ChainReader, TokenChange } from '../../../src/chain/chain.js';
import { memo, proofMemoText } from '../../../src/chain/memo.js';
import { TOKEN_PROGRAM } from '../../../src/chain/programs.js';
import { associatedTokenAddress } from '../../../src/chain/tokens/addresses.js';
import { burnChecked, transferChecked } from '../../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../../src/chain/transaction/instruction.js';
import { burnOfAmount, entriesOf } from '../../../src/cli/proof/expected-actions.js';
import { type ProofQuestion, verifyProof } from '../../../src/cli/proof/verify-proof.js';
import { sha256 } from '../../../src/values/digest.js';
import {
  accountsOf,
  batchState,
  flywheel,
  multisig,
  operator,
  owner,
  pipelines,
  vaultToken,
} from '../../support/batch-on-chain.js';
import { namedAddress } from '../../support/oracle.js';
import { nodeOf, type Past, pastOf } from '../../support/past-batch.js';

const { mint, tokenProgram, decimals } = vaultToken;
const pins = { ...flywheel, facts: null };
const PROOF = { viewId: 1 };
const hash = sha256(JSON.stringify(PROOF));
const account = associatedTokenAddress(owner, mint, tokenProgram);
const stranger = namedAddress('stranger');

const proofMemo = (of = hash, type = 'WATCH_AD'): Instruction => memo(proofMemoText(type, of), [owner]);
const burn = (amount: bigint, of = mint): Instruction =>
  burnChecked({ mint: of, tokenProgram, decimals, amount, account, owner });
const send = (amount: bigint): Instruction =>
  transferChecked({ mint, tokenProgram, decimals, amount, from: account, to: stranger, owner });

/** Logs of the memo program, as a pipeline leaves them. */
const loggedMemo = (text: string): readonly string[] => [
  'Program MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr invoke [2]',
  `Program log: Memo (len ${text.length}): ${JSON.stringify(text)}`,
  'Program MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr success',
];

interface Options {
  readonly balances?: TokenChange[];
  readonly logs?: readonly string[];
}

/** Verifies in a node that tells this past and has the multisig's account. */
function verified(
  past: Past,
  tx: string,
  question: Partial<ProofQuestion>,
  { balances, logs = [] }: Options = {},
) {
  const { chain, history } = nodeOf(past, balances === undefined ? {} : { balances: { [tx]: balances } });
  const known = accountsOf({ ...batchState(), transactions: [] });
  const reader: ChainReader = {
    ...chain,
    getAccounts: async (addresses) =>
      addresses.map((address) => (address === multisig ? (known.get(address) ?? null) : null)),
    lookUp: async (signatures) =>
      (await chain.lookUp(signatures)).map(
        (record) => record && { ...record, logs: [...record.logs, ...logs] },
      ),
  };
  return verifyProof({ chain: reader, history }, { tx, hash, candidates: null, pins, ...question });
}

const plain = (...instructions: Instruction[]): Past => new Map([['tx', instructions]]);
const ofAmount = (text: string): Pick<ProofQuestion, 'candidates'> => ({ candidates: [burnOfAmount(text)] });
const refused = (reason: RegExp) => ({ code: 'ERR_NOT_VERIFIED', message: expect.stringMatching(reason) });

describe('a burn', () => {
  it('is what the option says, in base units', async () => {
    const { value } = await verified(plain(proofMemo(), burn(2_250_000n)), 'tx', ofAmount('2.25'));
    expect(value).toMatchObject({
      ...{ verified: true, amounts: 'agree', balances: 'not kept' },
      moved: { mint, burned: { amount: '2.25', baseUnits: '2250000' }, sent: [] },
    });
    const one = await verified(plain(burn(2_250_000n), proofMemo()), 'tx', ofAmount('2.250'));
    expect(one.value.amounts).toBe('agree');
  });

  it.each<readonly [string, readonly Instruction[], string, RegExp]>([
    ['of another amount', [proofMemo(), burn(2_250_001n)], '2.25', /burned were 2250001 .* expected 2250000/],
    ['of less', [proofMemo(), burn(1n)], '2.25', /burned were 1 /],
    ['of nothing', [proofMemo()], '2.25', /moves no tokens for this proof/],
    ['done twice', [proofMemo(), burn(1_000_000n), burn(1_000_000n)], '1', /burned were 2000000/],
    ['beside which somebody gets some', [proofMemo(), burn(1_000_000n), send(5n)], '1', /account .* were 5/],
    [
      'of another mint',
      [proofMemo(), burn(1_000_000n, stranger)],
      '1',
      /tokens of the mint .*; the flywheel's/,
    ],
    ['for another proof', [proofMemo(), proofMemo(sha256('x')), burn(1_000_000n)], '1', /moves no tokens/],
    ['finer than the token', [proofMemo(), burn(1n)], '0.0000001', /decimals/],
  ])('%s is not verified', async (_what, instructions, amount, reason) => {
    await expect(verified(plain(...instructions), 'tx', ofAmount(amount))).rejects.toMatchObject(
      refused(reason),
    );
  });

  it('is held against the balances that the node has kept', async () => {
    const past = plain(proofMemo(), burn(1_000_000n));
    const balances = (after: bigint): Options => ({
      balances: [{ account, mint, before: 5_000_000n, after }],
    });
    const { value } = await verified(past, 'tx', ofAmount('1'), balances(4_000_000n));
    expect(value.balances).toBe('agree');
    await expect(verified(past, 'tx', {}, balances(3_000_000n))).rejects.toMatchObject(
      refused(/changed by -1000000 base units more/),
    );
  });

  it('is shown and not claimed where nobody has said what it should be, or which mint', async () => {
    const { value, view } = await verified(plain(proofMemo(), burn(7n)), 'tx', { pins: null });
    expect(value).toMatchObject({ amounts: 'not compared', moved: { burned: { baseUnits: '7' } } });
    const text = view({ good: String, bad: String, dim: String, bold: String } as never).join('\n');
    expect(text).toMatch(/was not compared with anything/);
    expect(text).toMatch(/nothing is pinned/);
  });

  it('is not told where another program had a hand in it', async () => {
    const foreign = { program: stranger, accounts: [], data: new Uint8Array(1) };
    const past = plain(proofMemo(), burn(1_000_000n), foreign);
    const { value } = await verified(past, 'tx', {});
    expect(value).toMatchObject({
      amounts: 'not told',
      moved: null,
      untold: expect.stringContaining(stranger),
    });
    await expect(verified(past, 'tx', ofAmount('1'))).rejects.toMatchObject(
      refused(/cannot be told: .*program/),
    );
  });

  it('of a file is the entry that has the proof, whichever of several', async () => {
    const burns = [1, 2, 3].map((burnAmount) => ({
      ...{ type: 'WATCH_AD', proof: PROOF, burnAmount, persistOnchain: true },
    }));
    const entries = (text: string) => entriesOf({ name: 'burns.json', text }, hash);
    const past = plain(proofMemo(), burn(2_000_000n));
    for (const text of [JSON.stringify(burns), burns.map((one) => JSON.stringify(one)).join('\n')]) {
      const { value } = await verified(past, 'tx', { candidates: await entries(text) });
      expect(value).toMatchObject({ amounts: 'agree', entry: '[1]' });
    }
    const other = await entries(JSON.stringify([{ ...burns[1], type: 'PRODUCT_BUY' }]));
    await expect(verified(past, 'tx', { candidates: other })).rejects.toMatchObject(
      refused(/by \[0\], its type is WATCH_AD, expected PRODUCT_BUY/),
    );
    await expect(entries(JSON.stringify([{ ...burns[1], proof: {} }]))).rejects.toThrow(
      /no entry has the proof/,
    );
  });
});

describe('a pipeline', () => {
  const at = 1;
  const pipeline = pipelines[at];
  if (pipeline === undefined) throw new TypeError('There is a second pipeline.');
  const { type, proofHash, actions } = pipeline;
  const inner = pipelines.map((one) => [...pipelineInstructions(pipelineContent(one, decimals), vaultToken)]);
  const logs = loggedMemo(proofMemoText(type, proofHash));
  const candidates = [{ place: 'pipelines[1]', type, actions }];
  const tx = `executed${at + 1}`;

  it('is what was put into its batch, and executed by this very transaction', async () => {
    const { value } = await verified(pastOf(inner, 3), tx, { hash: proofHash, candidates }, { logs });
    expect(value).toMatchObject({
      ...{ amounts: 'agree', entry: 'pipelines[1]' },
      moved: {
        burned: { baseUnits: '0' },
        sent: [
          {
            account: associatedTokenAddress(namedAddress('alice'), mint, TOKEN_PROGRAM),
            baseUnits: '2000000',
          },
          { account: associatedTokenAddress(namedAddress('bob'), mint, TOKEN_PROGRAM), baseUnits: '1' },
        ],
      },
    });
  });

  it('of another amount or recipient is not verified', async () => {
    const ask = (changed: typeof actions) =>
      verified(
        pastOf(inner, 3),
        tx,
        { hash: proofHash, candidates: [{ place: 'pipelines[1]', type, actions: changed }] },
        { logs },
      );
    await expect(ask(actions.slice(0, 1))).rejects.toMatchObject(
      refused(/by pipelines\[1\], sent to .* were 1 /),
    );
    await expect(ask([...actions, { action: 'BURN', amount: 1 }])).rejects.toMatchObject(
      refused(/burned were 0/),
    );
    await expect(ask([{ action: 'AIRDROP', toAddress: operator, amount: 2.000001 }])).rejects.toMatchObject(
      refused(/were 0 base units, expected 2000001/),
    );
  });

  it('is not told where the node has forgotten its batch, and is not claimed', async () => {
    const past = pastOf(inner, 3);
    past.set('added2', null);
    const { value } = await verified(past, tx, { hash: proofHash }, { logs });
    expect(value).toMatchObject({ amounts: 'not told', moved: null, balances: 'not kept' });
    await expect(verified(past, tx, { hash: proofHash, candidates }, { logs })).rejects.toMatchObject(
      refused(/does not know all of the past/),
    );
  });
});
