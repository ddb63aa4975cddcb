/** `batch cancel`: killed anywhere it ends the batch all the same, and it signs no vote but the one that is due. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type VoteKind, voteInstruction } from '../../src/chain/squads/instructions/vote.js';
import { transfer } from '../../src/chain/system.js';
import { compileV0Message, partiallySign } from '../../src/chain/transaction/compile.js';
import type { Instruction } from '../../src/chain/transaction/instruction.js';
import { createKeypairSigner } from '../../src/chain/transaction/signer.js';
import { address } from '../../src/values/address.js';
import { approvedOnly, initiated, pipelinesOf } from '../support/deeds.js';
import type { Gate } from '../support/gate.js';
import { anOperator, makeTemplate, type Operator, problemOf, type Template } from '../support/operator.js';
import { rawSqlite } from '../support/store.js';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate('--vault-tokens', '10', '--daily-burn', '30');
});

const TEN = [1, 1, 1, 1, 5, 1].map((amount, index) => ({
  type: 'WATCH_AD',
  payload: { index },
  actions: [{ action: 'BURN', amount }],
}));

const cancelWords = (operator: Operator, id: string): readonly string[] => [
  ...['batch', 'cancel', id, '--keypair', operator.owner, '--yes', '--json'],
];
const runWords = (operator: Operator, file: string): readonly string[] => [
  ...['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json', '--no-simulate'],
];

/** Effects of an init before the first that could land a bundle; those after it are tried one by one. */
const BEFORE_SETUP = 12;

/** Readies a batch in a state; whatever it burned belongs to the state. @returns its id. */
const STATES: Readonly<Record<string, (operator: Operator) => Promise<string>>> = {
  'waits for its owner': (operator) => initiated(operator, 'waits'),
  'is set up halfway': async (operator) => {
    const file = operator.write('half.json', pipelinesOf('half'));
    // Killed ever later, until its first bundle has landed, which makes the batch and its proposal.
    const landed = "select batch_id as id from bundles where phase = 'SETUP' and status = 'LANDED'";
    for (let point = BEFORE_SETUP; ; point += 1) {
      await operator.runWith({ signal: 'SIGKILL', point }, 'batch', 'init', file);
      const [bundle] = rawSqlite(join(operator.dataDir, 'store.db'), landed);
      if (bundle === undefined) continue;
      const [batch] = JSON.parse((await operator.run('batch', 'list', '--json')).stdout);
      expect(batch).toMatchObject({ id: bundle['id'], status: 'AVAILABLE_TO_QUEUE' });
      return batch.id;
    }
  },
  'is approved and not executed': (operator) => approvedOnly(operator, 'approved'),
  'has failed': async (operator) => {
    const init = await operator.run('batch', 'init', operator.write('ten.json', TEN), '--json');
    const drain = operator.write('drain.json', pipelinesOf('drain'));
    expect((await operator.run(...runWords(operator, drain))).exit).toBe(0);
    expect((await operator.run(...runWords(operator, 'ten.json'))).exit).toBe(10);
    return JSON.parse(init.stdout).batch.id;
  },
};

/** What is left when all of a batch is over: nothing held, nothing open, all that was burned still burned. */
async function expectOver(operator: Operator, id: string, burned: string): Promise<void> {
  const { stdout } = await operator.run('batch', 'show', id, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'FAILED',
    executeResult: expect.any(Object),
    dateCancelled: expect.any(String),
  });
  expect(await operator.happened()).toMatchObject({ burned, usedToday: { burn: burned, airdrop: '0' } });
  expect(await operator.pending()).toEqual([]);
  // Its accounts are closed, which gives their rent back.
  const open = `select id from batches where date_closed is null and date_cancelled is not null`;
  expect(rawSqlite(join(operator.dataDir, 'store.db'), open)).toEqual([]);
}

describe.each(Object.entries(STATES))('a batch that %s', (_state, ready) => {
  it('is cancelled, however often that is killed on its way', async () => {
    const operator = await anOperator('embedded', template);
    const id = await ready(operator);
    const { burned } = await operator.happened();
    const words = cancelWords(operator, id);
    const countFile = join(operator.directory, 'count');
    for (const point of [5, 12, 19, 26])
      await operator.runWith({ signal: 'SIGKILL', point, countFile }, ...words);
    const ended = await operator.run(...words);
    expect([ended.exit, ended.exit === 0 ? '' : ended.stderr]).toEqual([0, '']);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      id,
      status: 'FAILED',
      dateCancelled: expect.any(String),
    });
    for (const { id: operation, operation: kind, resume } of await operator.pending()) {
      // An execution that was broken off has come to its verdict; an init could be asked for again.
      if (kind === 'execute') expect((await operator.paste(resume)).exit).toBe(10);
      else expect((await operator.run('pending', 'forget', operation, '--yes')).exit).toBe(0);
    }
    await expectOver(operator, id, burned);
    expect((await operator.run(...words)).stdout).toBe(ended.stdout);
  });
});

describe('over HTTP', () => {
  const gateOf = ({ gate }: Operator): Gate => {
    if (gate === null) throw new TypeError('There is nothing between this operator and the service.');
    return gate;
  };

  it('the vote of the owner is signed when it is due, and the batch that failed is over', async () => {
    const operator = await anOperator('remote', template);
    const id = await STATES['has failed']?.(operator);
    const ended = await operator.run(...cancelWords(operator, id ?? ''));
    expect([ended.exit, ended.exit === 0 ? '' : ended.stderr]).toEqual([0, '']);
    expect(gateOf(operator).requests.filter(({ path }) => path.endsWith('/cancel'))).toHaveLength(2);
    await expectOver(operator, id ?? '', '7');
    await operator.leave();
  });

  it('nothing is signed that is anything but the one vote that is due', async () => {
    const operator = await anOperator('remote', template);
    const id = (await STATES['has failed']?.(operator)) ?? '';
    const gate = gateOf(operator);
    const owner = createKeypairSigner(Uint8Array.from(JSON.parse(readFileSync(operator.owner, 'utf8'))));
    const { multisig } = template.made;
    const vote = (kind: VoteKind, batchIndex: bigint, of = multisig): Instruction =>
      voteInstruction(kind, { multisig: address(of), batchIndex, member: owner.address });
    const wireOf = (instructions: readonly Instruction[]): string =>
      Buffer.from(
        partiallySign(
          compileV0Message({ payer: owner.address, instructions, blockhash: template.made.multisig }),
          [],
        ),
      ).toString('base64');
    const theft = transfer({ from: owner.address, to: address(template.made.operator), lamports: 1n });
    const before = await operator.happened();
    for (const [lie, wire] of Object.entries({
      'a rejection of what is approved': wireOf([vote('reject', 1n)]),
      'an approval': wireOf([vote('approve', 1n)]),
      'the cancellation of another batch': wireOf([vote('cancel', 2n)]),
      'one of another multisig': wireOf([vote('cancel', 1n, template.made.mintAddress)]),
      'a transfer beside it': wireOf([vote('cancel', 1n), theft]),
      'two votes': wireOf([vote('cancel', 1n), vote('cancel', 1n)]),
      'no transaction': Buffer.from('nothing of the kind').toString('base64'),
    })) {
      const asks = { ownerVoteNeeded: true, cancelTx: wire };
      gate.fate = ({ path }) => (path.endsWith('/cancel') ? { answer: asks } : 'pass');
      const refused = await operator.run(...cancelWords(operator, id));
      expect([lie, refused.exit, problemOf(refused).error]).toEqual([lie, 9, 'ERR_APPROVAL_REFUSED']);
      expect(gate.requests.filter(({ path }) => path.endsWith('/cancel')).length).toBeGreaterThan(0);
    }
    expect(await operator.happened()).toEqual(before);
    await operator.leave();
  });
});

describe('the file of a cancelled batch', () => {
  it('makes a new one, and says so, when nothing of the first has landed', async () => {
    const operator = await anOperator('embedded', template);
    const id = await initiated(operator, 'waits');
    expect((await operator.run(...cancelWords(operator, id))).exit).toBe(0);
    const again = await operator.run(...runWords(operator, 'waits.json'));
    expect(again.exit).toBe(0);
    expect(again.stderr).toContain('was cancelled before anything of it landed; it is begun once more.');
    expect(JSON.parse(again.stdout).batch.id).not.toBe(id);
  });

  it('makes none, whichever command it is given to, when it had failed before', async () => {
    const operator = await anOperator('embedded', template);
    const whole = [{ type: 'WATCH_AD', payload: { n: 1 }, actions: [{ action: 'BURN', amount: 9 }] }];
    const init = await operator.run('batch', 'init', operator.write('whole.json', whole), '--json');
    const { id } = JSON.parse(init.stdout).batch;
    const drain = operator.write('drain.json', pipelinesOf('drain'));
    expect((await operator.run(...runWords(operator, drain))).exit).toBe(0);
    expect((await operator.run(...runWords(operator, 'whole.json'))).exit).toBe(10);
    expect((await operator.run(...cancelWords(operator, id))).exit).toBe(0);
    const list = async () => JSON.parse((await operator.run('batch', 'list', '--json')).stdout).length;
    const before = await list();
    expect((await operator.run(...runWords(operator, 'whole.json'))).exit).toBe(10);
    const printed = await operator.run('batch', 'init', 'whole.json', '--json');
    expect([printed.exit, JSON.parse(printed.stdout).batch.id]).toEqual([0, id]);
    expect(await list()).toBe(before);
  });
});
