/** `batch cancel`: a repeat after a kill at any point ends the batch, and the owner signs only the cancelling vote. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { FILES, StoreTables } from '../simulation/audit/tables.js';
import { isLong, sampleOf } from '../support/long.js';
import type { Spawned } from '../support/spawn.js';
import { approvedOnly, failedInPart, halfSetUp, initiated } from './deeds.js';
import { anOperator, expectProblem, gateOf, type Operator } from './operator.js';

const INIT = ['--vault-tokens', '10', '--daily-burn', '30'];

const TEN = [1, 1, 1, 1, 5, 1].map((amount, index) => ({
  type: 'WATCH_AD',
  payload: { index },
  actions: [{ action: 'BURN', amount }],
}));

const cancelWords = (operator: Operator, id: string): readonly string[] => [
  ...['batch', 'cancel', id, '--keypair', operator.owner, '--yes', '--json'],
];

const runWords = (operator: Operator, file: string): readonly string[] => [
  ...['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'],
];

/** Brings a batch into a state; the state may include burns. @returns the batch id. */
const STATES: Readonly<Record<string, (operator: Operator) => Promise<string>>> = {
  'waits for its owner': (operator) => initiated(operator, 'waits'),
  'is set up halfway': (operator) => halfSetUp(operator, 'waits'),
  'is approved and not executed': (operator) => approvedOnly(operator, 'waits'),
  'has failed': (operator) => failedInPart(operator, operator.write('ten.json', TEN)),
};
/** Failed batches are cancelled over HTTP below. */
const KILLED = Object.entries(STATES).filter(([state]) => isLong || state === 'is set up halfway');

/** Expects a finished batch: no cap reserved, nothing open, and all earlier burns kept. */
async function expectOver(operator: Operator, id: string, burned: string): Promise<void> {
  const { stdout } = await operator.run('batch', 'show', id, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'FAILED',
    executeResult: expect.any(Object),
    dateCancelled: expect.any(String),
  });
  expect(await operator.happened()).toMatchObject({ burned, usedToday: { burn: burned, airdrop: '0' } });
  expect(operator.open()).toEqual([]);
  // Closed accounts have returned their rent.
  const store = new StoreTables(join(operator.dataDir, FILES.store));
  expect(store.batches().filter(({ isCancelled, isOver }) => isCancelled && !isOver)).toEqual([]);
  store.close();
}

describe.each(KILLED)('a batch that %s', (state, ready) => {
  it('is cancelled, however often that is killed on its way', async () => {
    const operator = await anOperator('embedded', INIT);
    const id = await ready(operator);
    const { burned } = await operator.happened();
    if (state === 'is set up halfway')
      expectProblem(await operator.run('pending', 'resume', id, '--json'), 2, { hint: 'Run its file again' });
    const words = cancelWords(operator, id);
    for (const point of sampleOf([5, 12, 19, 26], 2))
      await operator.runWith({ signal: 'SIGKILL', point }, ...words);
    const ended = await operator.run(...words);
    expect([ended.exit, ended.exit === 0 ? '' : ended.stderr]).toEqual([0, '']);
    const over = { id, status: 'FAILED', dateCancelled: expect.any(String) };
    expect(JSON.parse(ended.stdout)).toMatchObject(over);
    // An interrupted init is still pending, and is over by now.
    for (const { resume } of await operator.pending())
      expectProblem(await operator.paste(`${resume} --json`), 2, { hint: 'Add --again' });
    await expectOver(operator, id, burned);
    expect((await operator.run(...words)).stdout).toBe(ended.stdout);
    if (state === 'has failed') return;
    // The same file must not start the batch again.
    expectProblem(await operator.run(...runWords(operator, 'waits.json')), 2, { hint: 'Add --again' });
    const again = await operator.run(...runWords(operator, 'waits.json'), '--again');
    expect([again.exit, JSON.parse(again.stdout).batch.id === id]).toEqual([0, false]);
  });
});

describe('over HTTP', () => {
  /** Transactions that a lying service may give the owner to sign in place of the cancellation of batch 1. */
  function lies(owner: PublicKey, { made }: Operator['template']): Readonly<Record<string, string>> {
    const vote = (kind: 'Approve' | 'Reject' | 'CancelV2', batchIndex: bigint, of = made.multisig) =>
      squads.instructions[`proposal${kind}`]({
        ...{ multisigPda: new PublicKey(of), transactionIndex: batchIndex, member: owner },
      });
    const wireOf = (...instructions: TransactionInstruction[]): string => {
      const terms = { payerKey: owner, recentBlockhash: made.multisig, instructions };
      const transaction = new VersionedTransaction(new TransactionMessage(terms).compileToV0Message());
      return Buffer.from(transaction.serialize()).toString('base64');
    };
    const theft = SystemProgram.transfer({
      ...{ fromPubkey: owner, toPubkey: new PublicKey(made.operator), lamports: 1 },
    });
    return {
      'an approval': wireOf(vote('Approve', 1n)),
      'a rejection of what is approved': wireOf(vote('Reject', 1n)),
      'the cancellation of another batch': wireOf(vote('CancelV2', 2n)),
      'one of another multisig': wireOf(vote('CancelV2', 1n, made.mintAddress)),
      'two votes': wireOf(vote('CancelV2', 1n), vote('CancelV2', 1n)),
      'no transaction': Buffer.from('nothing of the kind').toString('base64'),
      'a transfer beside it': wireOf(vote('CancelV2', 1n), theft),
    };
  }

  it('nothing is signed but the one vote that is due, and the batch that failed is over', async () => {
    const operator = await anOperator('remote', INIT);
    const id = (await STATES['has failed']?.(operator)) ?? '';
    const gate = gateOf(operator);
    const owner = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(operator.owner, 'utf8'))));
    const before = await operator.happened();
    for (const [_lie, wire] of sampleOf(Object.entries(lies(owner.publicKey, operator.template)), 1)) {
      const asks = { ownerVoteNeeded: true, cancelTx: wire };
      gate.fate = ({ path }) => (path.endsWith('/cancel') ? { answer: asks } : 'pass');
      const asked = gate.requests.length;
      const refused = await operator.run(...cancelWords(operator, id));
      expect(gate.requests.slice(asked).some(({ path }) => path.endsWith('/cancel'))).toBe(true);
      expectProblem(refused, 9, { error: 'ERR_APPROVAL_REFUSED' });
    }
    expect(await operator.happened()).toEqual(before);

    gate.fate = () => 'pass';
    const from = gate.requests.length;
    const ended = await operator.run(...cancelWords(operator, id));
    expect([ended.exit, ended.exit === 0 ? '' : ended.stderr]).toEqual([0, '']);
    expect(gate.requests.slice(from).filter(({ path }) => path.endsWith('/cancel'))).toHaveLength(2);
    await expectOver(operator, id, '7');

    // The file creates no second batch, whichever command gets it.
    const { batches } = await operator.happened();
    expect((await operator.run(...runWords(operator, 'ten.json'))).exit).toBe(10);
    const printed = await operator.run('batch', 'init', 'ten.json', '--json');
    expect([printed.exit, JSON.parse(printed.stdout).batch.id]).toEqual([10, id]);
    expect((await operator.happened()).batches).toEqual(batches);
    await operator.leave();
  });
});

it('a batch that waits is over, and asking again says the same', async () => {
  const operator = await anOperator('embedded', INIT);
  const id = await initiated(operator, 'waits');
  const forgotten = await operator.run('pending', 'forget', id, '--yes', '--json');
  expectProblem(forgotten, 2, { message: new RegExp(id), hint: 'batch cancel' });
  const ended = await operator.run(...cancelWords(operator, id));
  expect(JSON.parse(ended.stdout)).toMatchObject({ id, status: 'FAILED', dateCancelled: expect.any(String) });
  // A script also sees the content of the vote.
  const notices = ended.stderr.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).notice]));
  expect(notices.join('\n')).toMatch(/total burn +3 FLY\n/);
  expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['CANCELLED'] });
  const again = await operator.run(...cancelWords(operator, id));
  expect([again.exit, again.stdout]).toEqual([0, ended.stdout]);
  expect([ended.stderr, again.stderr].map((text) => text.includes('was already cancelled'))).toEqual([
    ...[false, true],
  ]);
  expect(await operator.pending()).toEqual([]);
});

describe('a cancellation that is killed before it is told', () => {
  const WAYS: Readonly<Record<string, (operator: Operator, line: string) => Promise<Spawned>>> = {
    'the line that `pending` prints': (operator, line) => operator.paste(line),
    'the command of the file': (operator) => operator.run('batch', 'init', 'waits.json', '--json'),
  };

  it.each(sampleOf(Object.entries(WAYS), 1))('is told by %s, and is not pending then', async (_, again) => {
    const operator = await anOperator('embedded', INIT);
    const id = await initiated(operator, 'waits');
    const when = "select 1 from operations where state = 'cancelled'";
    const fault = { signal: 'SIGKILL', when, whenIn: FILES.journal } as const;
    const killed = await operator.runWith(fault, ...cancelWords(operator, id));
    const [row, ...others] = await operator.pending();
    expect([killed.signal, row?.outcome, others]).toEqual(['SIGKILL', 'not printed yet', []]);
    const told = await again(operator, row?.resume ?? '');
    expect([told.exit, told.stdout, told.stderr]).toEqual([2, '', expect.stringContaining('was cancelled')]);
    expect([await operator.pending(), operator.open()]).toEqual([[], []]);
    // The file is still known as cancelled.
    expect((await operator.run(...runWords(operator, 'waits.json'))).exit).toBe(2);
    expect((await operator.run(...runWords(operator, 'waits.json'), '--again')).exit).toBe(0);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['CANCELLED', 'EXECUTED'] });
  });
});
