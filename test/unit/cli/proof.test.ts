/** `flywheel proof`: the hash of a proof, and the token movements proven by successful transactions, or the lack of them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pipelineContent, pipelineInstructions } from '../../../src/actions/pipelines.js';
import type { TokenChange, TransactionRecord } from '../../../src/chain/chain.js';
import { memo, proofMemoText } from '../../../src/chain/small-programs.js';
import { associatedTokenAddress } from '../../../src/chain/squads/addresses.js';
import { identifierOf } from '../../../src/chain/squads/instructions.js';
import { burnChecked, transferChecked } from '../../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../../src/chain/transaction/message.js';
import type { OpenedService } from '../../../src/cli/context.js';
import { address } from '../../../src/values/address.js';
import { proofHash, type Sha256 } from '../../../src/values/digest.js';
import { canonicalHash } from '../../specification/requests.js';
import { testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';
import {
  accountsOf,
  batchState,
  flywheel,
  multisig,
  operator,
  owner,
  pipelines,
  vaultToken,
} from '../batch-on-chain.js';
import { nodeOf, type Past, pastOf } from './past-batch.js';
import { complaint, refusal } from './single-command.js';

const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

describe('proof hash', () => {
  it('is that of RFC 8785 for each number that a double carries, and of no other', async () => {
    const run = (number: string) => testCli({ stdin: `{"n":${number}}` }).run('proof', 'hash', '-');
    for (const number of ['9007199254740992', '9007199254740994', '1E30', '1e21', '-295147905179352830000'])
      expect(JSON.parse((await run(number)).stdout)).toEqual({ hash: canonicalHash({ n: Number(number) }) });
    for (const number of ['9007199254740993', '1e400', '0.1000000000000000055511151231257827']) {
      const { exit, stderr } = await run(number);
      expect([exit, complaint(stderr).message]).toEqual([2, expect.stringContaining(number)]);
    }
  });

  it.each(['[]', '{"a":1,"a":1}', '', JSON.stringify({ a: 'x'.repeat(65_536) })])(
    'refuses %.20j',
    async (stdin) => {
      const answer = await refusal(testCli({ stdin }), 'proof', 'hash', '-');
      expect(answer.slice(0, 2)).toEqual([2, 'ERR_INPUT_INVALID']);
    },
  );
});

const { mint, tokenProgram, decimals } = vaultToken;
const PROOF = { viewId: 1 };
const HASH = proofHash(PROOF);
const account = associatedTokenAddress(owner, mint, tokenProgram);
const stranger = namedAddress('stranger');

const proofMemo = (of: Sha256 = HASH, type = 'WATCH_AD'): Instruction =>
  memo(proofMemoText(type, of), [owner]);
const burn = (amount: bigint, of = mint): Instruction =>
  burnChecked({ mint: of, tokenProgram, decimals, amount, account, owner });
const send = (amount: bigint): Instruction =>
  transferChecked({ mint, tokenProgram, decimals, amount, from: account, to: stranger, owner });
const plain = (...instructions: Instruction[]): Past => new Map([['tx', instructions]]);

interface Node {
  readonly balances?: TokenChange[];
  readonly failed?: boolean;
  readonly kept?: Record<string, Partial<TransactionRecord>>;
  readonly opened?: Partial<OpenedService>;
}
/** A command line with a node of this history, which has the multisig's account. */
function cliWith(past: Past, { balances, failed = false, kept = {}, opened = {} }: Node = {}) {
  const names = [...past.keys()];
  const chain = nodeOf(past, {
    balances: Object.fromEntries(balances === undefined ? [] : names.map((name) => [name, balances])),
    ...{ failed: failed ? names : [], kept },
  });
  const known = accountsOf({ ...batchState(), transactions: [] });
  const reader: typeof chain = {
    ...chain,
    getAccounts: async (addresses) =>
      addresses.map((address) => (address === multisig ? (known.get(address) ?? null) : null)),
    lookUp: async (signatures) =>
      (await chain.lookUp(signatures)).map((record, at) => (past.has(signatures[at] ?? '') ? record : null)),
  };
  const pins = flywheel;
  const cli = testCli({ opened: { chain: reader, pins, ...opened } });
  writeFileSync(join(cli.home, 'proof.json'), JSON.stringify(PROOF));
  return cli;
}
const WORDS = ['proof', 'verify', '--tx', 'tx', '--proof', 'proof.json'];
const amount = (text: string) => [...WORDS, '--amount', text];

describe('a burn', () => {
  const good = plain(proofMemo(), burn(2_250_000n));

  it.each<readonly [string, readonly Instruction[], string, RegExp]>([
    ['of another amount', [proofMemo(), burn(2_250_001n)], '2.25', /2\.250001 .* 2\.25\./],
    ['of nothing', [proofMemo()], '2.25', /no tokens/],
    ['done twice', [proofMemo(), burn(1_000_000n), burn(1_000_000n)], '1', / 2 tokens .* 1\./],
    ['beside which somebody gets some', [proofMemo(), burn(1_000_000n), send(5n)], '1', / 0\.000005 /],
    ['of another mint', [proofMemo(), burn(1_000_000n, stranger)], '1', new RegExp(stranger)],
    ['for another proof', [proofMemo(), proofMemo(proofHash({})), burn(1_000_000n)], '1', /no tokens/],
    ['finer than the token', [proofMemo(), burn(1n)], '0.0000001', /decimals/],
  ])('%s is not verified', async (_what, instructions, text, reason) => {
    const answer = await refusal(cliWith(plain(...instructions)), ...amount(text));
    expect(answer).toEqual([9, 'ERR_NOT_VERIFIED', expect.stringMatching(reason)]);
  });

  it('is held against the balances that the node has kept', async () => {
    const balances = (after: bigint) => [{ account, mint, before: 5_000_000n, after }];
    const agreeing = await cliWith(good, { balances: balances(2_750_000n) }).run(...amount('2.25'));
    expect(JSON.parse(agreeing.stdout).balances).toBe('agree');
    const answer = await refusal(cliWith(good, { balances: balances(3_000_000n) }), ...WORDS);
    expect(answer.slice(0, 2)).toEqual([9, 'ERR_NOT_VERIFIED']);
  });

  it('is not told where another program had a hand in it', async () => {
    const foreign = { program: stranger, accounts: [], data: new Uint8Array(1) };
    const cli = cliWith(plain(proofMemo(), burn(1_000_000n), foreign));
    expect(JSON.parse((await cli.run(...WORDS)).stdout)).toMatchObject({ amounts: 'not told', moved: null });
    expect((await refusal(cli, ...amount('1'))).slice(0, 2)).toEqual([9, 'ERR_NOT_VERIFIED']);
  });

  it('of a file is the entry that has the proof, whichever of several', async () => {
    const cli = cliWith(plain(proofMemo(), burn(2_000_000n)));
    const burns = [1, 2, 3].map((burnAmount) => ({
      ...{ type: 'WATCH_AD', proof: PROOF, burnAmount, persistOnchain: true },
    }));
    const expecting = async (text: string) => {
      writeFileSync(join(cli.home, 'b.json'), text);
      const { exit, stdout } = await cli.run(...WORDS, '--expect', 'b.json');
      return [exit, exit === 0 ? JSON.parse(stdout).entry : null];
    };
    expect(await expecting(JSON.stringify(burns))).toEqual([0, '[1]']);
    expect(await expecting(burns.map((one) => JSON.stringify(one)).join('\n'))).toEqual([0, '[1]']);
    expect(await expecting(JSON.stringify([{ ...burns[1], type: 'PRODUCT_BUY' }]))).toEqual([9, null]);
    expect(await expecting(JSON.stringify([{ ...burns[1], proof: {} }]))).not.toContain(0);
  });

  it.each([
    ['has failed', cliWith(good, { failed: true }), 9, 'ERR_NOT_VERIFIED'],
    ['carries another hash', cliWith(plain(proofMemo(proofHash({})), burn(1n))), 9, 'ERR_NOT_VERIFIED'],
    ['has not landed', cliWith(new Map()), 5, 'ERR_NOT_FOUND'],
    ['has landed, and is not kept', cliWith(good, { kept: { tx: { wire: null } } }), 9, 'ERR_NOT_VERIFIED'],
    ['nobody can look at', cliWith(good, { opened: { chain: null } }), 2, 'ERR_CONFIG_INVALID'],
  ] as const)('is refused where its transaction %s', async (_what, cli, exit, code) => {
    expect((await refusal(cli, ...WORDS)).slice(0, 2)).toEqual([exit, code]);
  });
});

describe('a pipeline', () => {
  const [, pipeline] = pipelines;
  if (pipeline === undefined) throw new TypeError('There is a second pipeline.');
  const { type, actions } = pipeline;
  // The same pipelines with the file's proof.
  const proven = pipelines.map((one) => (one === pipeline ? { ...one, proofHash: HASH } : one));
  const inner = proven.map((one) => [...pipelineInstructions(pipelineContent(one, decimals), vaultToken)]);
  const text = proofMemoText(type, HASH);
  const told = { program: address(MEMO), accounts: [], data: Buffer.from(text) };
  const words = (expected: readonly object[], cli: ReturnType<typeof cliWith>) => {
    const file = [{ type, payload: PROOF, actions: expected }];
    writeFileSync(join(cli.home, 'p.json'), JSON.stringify(file));
    return ['proof', 'verify', '--tx', 'executed2', '--proof', 'proof.json', '--expect', 'p.json'];
  };
  const held = (name: string) => associatedTokenAddress(namedAddress(name), mint, tokenProgram);

  it('is what was put into its batch, and executed by this very transaction', async () => {
    const cli = cliWith(pastOf(inner, 3));
    const { exit, stdout } = await cli.run(...words(actions, cli));
    const sent = [
      { account: held('alice'), baseUnits: '2000000' },
      { account: held('bob'), baseUnits: '1' },
    ];
    const moved = { burned: { baseUnits: '0' }, sent };
    expect([exit, JSON.parse(stdout)]).toMatchObject([0, { amounts: 'agree', moved }]);
    const other = { action: 'AIRDROP', toAddress: operator, amount: 2.000001 };
    for (const changed of [actions.slice(0, 1), [...actions, { action: 'BURN', amount: 1 }], [other]])
      expect((await refusal(cli, ...words(changed, cli))).slice(0, 2)).toEqual([9, 'ERR_NOT_VERIFIED']);
  });

  it('is told where a vault transaction executed it, and only as far as the balances bear that out', async () => {
    const past = pastOf(inner, 3);
    const [execution] = past.get('executed2') ?? [];
    if (execution === undefined) throw new TypeError('It was executed.');
    past.delete('executed2');
    const call = { ...execution, accounts: execution.accounts.map(({ address }) => address) };
    const outer = { ...execution, data: Buffer.from(identifierOf('vaultTransactionExecute'), 'hex') };
    const sent = (from: bigint) => [
      { account: vaultToken.vaultTokenAccount, mint, before: 9_000_000n, after: 9_000_000n - from },
      { account: held('alice'), mint, before: 0n, after: 2_000_000n },
      { account: held('bob'), mint, before: 0n, after: 1n },
    ];
    const run = async (balances: TokenChange[] | undefined, innerCalls = [call]) => {
      const node = { kept: { executed2: { innerCalls } }, ...(balances && { balances }) };
      const cli = cliWith(new Map(past).set('executed2', [outer]), node);
      const { exit, stdout } = await cli.run(...words(actions, cli));
      return exit === 0 ? JSON.parse(stdout).amounts : exit;
    };
    expect(await run(sent(2_000_001n))).toBe('agree');
    expect(await run(sent(2_000_002n))).toBe(9);
    expect(await run(undefined)).toBe(9);
    expect(await run(sent(2_000_001n), [])).toBe(9);
  });

  it('is not what an account sends to itself', async () => {
    const toItself = transferChecked({
      mint,
      tokenProgram,
      decimals,
      amount: 5n,
      from: account,
      to: account,
      owner,
    });
    const cli = cliWith(new Map([['executed2', [proofMemo(HASH, type), toItself]]]));
    const airdrop = { action: 'AIRDROP', toAddress: owner, amount: 0.000005 };
    expect((await refusal(cli, ...words([airdrop], cli))).slice(0, 2)).toEqual([9, 'ERR_NOT_VERIFIED']);
  });

  it('is not told where the node has forgotten its batch, and is not claimed', async () => {
    const kept = { executed2: { innerCalls: [told] } };
    const cli = cliWith(pastOf(inner, 3).set('added2', null), { kept });
    const asked = words(actions, cli);
    const answer = JSON.parse((await cli.run(...asked.slice(0, 6))).stdout);
    expect(answer).toMatchObject({ amounts: 'not told', moved: null });
    expect((await refusal(cli, ...asked)).slice(0, 2)).toEqual([9, 'ERR_NOT_VERIFIED']);
  });
});
