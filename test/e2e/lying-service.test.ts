/** A service that answers with the facts of another batch: nothing is signed, done twice or believed. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Keypair, PublicKey, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { ask } from '../support/http-serve.js';
import { describeLong, itLong, sampleOf } from '../support/long.js';
import { signerOf, signOn, withPage } from '../support/wallet-page.js';
import { failedInPart, pipelinesOf } from './deeds.js';
import type { Fate, Gate, GateRequest } from './gate.js';
import {
  anOperator,
  expectProblem,
  gateOf,
  makeTemplate,
  type Operator,
  problemOf,
  type Template,
} from './operator.js';

const VAULT_TOKENS = 200;
const REFUSED = 9;
const UNKNOWN = 7;

type Answered = { status: number; body: unknown };
type Fields = Readonly<Record<string, unknown>>;

interface Lied extends Operator {
  readonly gate: Gate;
}

async function lied(template: Template, options: { readonly pinned?: boolean } = {}): Promise<Lied> {
  const operator = await anOperator('remote', template, options);
  const gate = gateOf(operator);
  return { ...operator, gate };
}

/** One operator with pins and one without; each test has its own batches. */
let template: Template;
let operator: Lied;
let unpinned: Lied;
beforeAll(async () => {
  template = await makeTemplate('--vault-tokens', String(VAULT_TOKENS));
  [operator, unpinned] = await Promise.all([lied(template), lied(template, { pinned: false })]);
});
beforeEach(() => {
  operator.gate.fate = () => 'pass';
  unpinned.gate.fate = () => 'pass';
});
afterAll(() => Promise.all([operator.leave(), unpinned.leave()]));

const asked = async ({ gate, key }: Lied, path: string, body?: unknown): Promise<Fields> =>
  (await ask(`${gate.url}/v1/flywheel/batch/${path}`, key, {
    ...(body === undefined ? {} : { body, idempotencyKey: randomUUID() }),
  }).then((answer) => answer.json())) as Fields;

/** Sets up the batch of a file without the command. @returns the batch id. */
async function begun(operator: Lied, name: string, pipelines: readonly object[] = pipelinesOf(name)) {
  operator.write(`${name}.json`, pipelines);
  const texts = pipelines.map((one) => ({
    ...one,
    payload: JSON.stringify((one as { payload: unknown }).payload),
  }));
  return (await asked(operator, 'init', { pipelines: texts }))['batch'] as Fields & {
    readonly id: string;
    readonly batchIndex: string;
  };
}

async function approval(operator: Lied, { id }: { readonly id: string }) {
  const { proposalApproveTx } = await asked(operator, `${id}/approval`, {});
  const transaction = VersionedTransaction.deserialize(Buffer.from(String(proposalApproveTx), 'base64'));
  const secret = Uint8Array.from(JSON.parse(readFileSync(operator.owner, 'utf8')));
  transaction.sign([Keypair.fromSecretKey(secret)]);
  return { batchId: id, signedTx: Buffer.from(transaction.serialize()).toString('base64') };
}

function rejection(batchIndex: string): string {
  const { multisig, owner } = template.made;
  const member = new PublicKey(owner.address);
  const vote = squads.instructions.proposalReject({
    ...{ multisigPda: new PublicKey(multisig), transactionIndex: BigInt(batchIndex), member },
  });
  const message = new TransactionMessage({
    ...{ payerKey: member, recentBlockhash: multisig, instructions: [vote] },
  });
  return Buffer.from(new VersionedTransaction(message.compileToV0Message()).serialize()).toString('base64');
}

/** Changes a batch in every answer that contains it. */
const saying =
  (id: string, change: (batch: Fields) => Fields) =>
  ({ status, body }: Answered): Answered => {
    const changed = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      const fields = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one)]));
      return fields['id'] === id ? change(fields) : fields;
    };
    return { status, body: changed(body) };
  };

const of = (id: string, { path }: GateRequest): boolean => path.includes(id);
const words = ({ owner }: Operator, name: string): readonly string[] => [
  ...['--keypair', owner, '--expect', `${name}.json`, '--yes', '--json'],
];

const cancelled = (batch: Fields): Fields => {
  const { initResult, executeResult, ...rest } = batch;
  return { ...rest, status: 'FAILED', dateCancelled: '2026-01-31T12:00:00.000Z' };
};

/** Other pipelines than those of the batch. */
const listedOthers = ({ status, body }: Answered): Answered => {
  const { items, ...rest } = body as { items: readonly Fields[] };
  return { status, body: { ...rest, items: items.map((one) => ({ ...one, proofHash: 'ab'.repeat(32) })) } };
};

const STATUSES = ['FINALIZED', 'AVAILABLE_TO_QUEUE'];

describe('a batch that is another one by now', () => {
  itLong('is not approved again, though its pipelines are the same', async () => {
    const { gate } = operator;
    const [{ id, batchIndex }, twin] = [await begun(operator, 'same'), await begun(operator, 'same')];
    expect((await operator.run('batch', 'approve', id, ...words(operator, 'same'))).exit).toBe(0);
    const other = await asked(operator, `${twin.id}/approval`, {});
    const said = { ...other, batch: { ...(other['batch'] as Fields), id } };
    gate.fate = (request) => (request.path.endsWith(`${id}/approval`) ? { answer: said } : 'pass');
    const again = await operator.run('batch', 'approve', id, ...words(operator, 'same'));
    expect(again).toMatchObject({ exit: REFUSED, stdout: '' });
    expect(problemOf(again).message).toMatch(
      new RegExp(`number ${twin.batchIndex} .* number ${batchIndex}\\b`),
    );
  });

  it.each(sampleOf(STATUSES, 1))(
    'is not approved in place of the one whose execution is asked for (%s)',
    async (status) => {
      const { gate } = operator;
      const name = `same${status}`;
      const [{ id }, twin] = [await begun(operator, name), await begun(operator, name)];
      const other = await asked(operator, `${twin.id}/approval`, {});
      const said = { ...other, batch: { ...(other['batch'] as Fields), id, status } };
      gate.fate = (request) => (request.path.endsWith(`${id}/approval`) ? { answer: said } : 'pass');
      const from = gate.requests.length;
      const ran = await operator.run('batch', 'execute', id, '--approval', id, ...words(operator, name));
      expect(ran.exit).not.toBe(0);
      expect(gate.requests.slice(from).filter(({ path }) => path.endsWith('/execute'))).toEqual([]);
    },
  );

  // A batch in set-up may still get another index, so the index alone is no contradiction.
  it.each(sampleOf(STATUSES, 1))(
    'is not voted down in place of the one that was shown (%s)',
    async (status) => {
      const { gate, owner } = operator;
      const { id } = await begun(operator, `bad${status}`);
      const { batchIndex } = await begun(operator, `good${status}`);
      const cancelTx = rejection(batchIndex);
      let looks = 0;
      gate.fate = (request) => {
        if (request.path.endsWith('/cancel')) return { answer: { ownerVoteNeeded: true, cancelTx } };
        looks += of(id, request) ? 1 : 0;
        return { alter: saying(id, (batch) => ({ ...batch, ...(looks > 1 ? { batchIndex } : { status }) })) };
      };
      const ended = await operator.run('batch', 'cancel', id, '--keypair', owner, '--yes', '--json');
      expect(ended.stdout).toBe('');
      expect(gate.requests.filter(({ path }) => path.endsWith(`${id}/cancel`))).toHaveLength(1);
    },
  );
});

describe('a batch that is said to be cancelled', () => {
  it('and was executed is not begun once more', async () => {
    const { gate } = operator;
    const [before, open] = [await operator.happened(), operator.open()];
    const file = operator.write('three.json', pipelinesOf('three'));
    const run = ['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'];
    gate.fate = ({ path }) => (path.endsWith('/execute') ? 'lose' : 'pass');
    expect((await operator.run(...run)).exit).toBe(UNKNOWN);
    const done = await operator.happened();
    expect(Number(done.burned) - Number(before.burned)).toBe(3);
    gate.fate = () => 'pass';
    const init = gate.passed.findLast((passed) => passed.path.endsWith('/init'));
    const { id } = JSON.parse(String(init?.content)).batch;
    gate.fate = ({ path }) => {
      if (path.includes(`${id}/pipelines`)) return { answer: { items: [], nextCursor: null } };
      return path.endsWith(id) ? { alter: saying(id, cancelled) } : 'pass';
    };
    const again = await operator.run(...run);
    expect([again.exit, again.stdout]).toEqual([UNKNOWN, '']);
    expect(await operator.happened()).toEqual(done);
    gate.fate = () => 'pass';
    expect((await operator.run(...run)).exit).toBe(0);
    expect([await operator.happened(), operator.open()]).toEqual([done, open]);
  });

  it('and still waits unlocks no second approval of its proofs, until it is over on chain', async () => {
    const { gate, owner } = operator;
    const waiting = await begun(operator, 'first');
    const shared = [...pipelinesOf('first').slice(2), ...pipelinesOf('second').slice(0, 1)];
    const next = await begun(operator, 'next', shared);
    expect((await operator.run('batch', 'approve', waiting.id, ...words(operator, 'first'))).exit).toBe(0);
    const approved = () => operator.run('batch', 'approve', next.id, ...words(operator, 'next'));
    const cancel = () => operator.run('batch', 'cancel', waiting.id, '--keypair', owner, '--yes', '--json');
    expect((await approved()).exit).toBe(2);
    const batch = cancelled(await asked(operator, waiting.id));
    const setUp = { ...(await asked(operator, waiting.id)), ...batch };
    const answer = { ownerVoteNeeded: false, batch };
    gate.fate = ({ path }) => (path.endsWith('/cancel') ? { answer: { ...answer, batch: setUp } } : 'pass');
    expect((await cancel()).exit).toBe(UNKNOWN);
    expect((await approved()).exit).toBe(2);
    // Now every answer says so, also that the batch was never set up.
    gate.fate = (request) => {
      if (request.path.endsWith('/cancel')) return { answer };
      return of(waiting.id, request) ? { alter: saying(waiting.id, cancelled) } : 'pass';
    };
    expectProblem(await cancel(), UNKNOWN, { stdout: '', message: 'proposal is Active' });
    expectProblem(await approved(), 2, { stdout: '', error: 'ERR_INPUT_INVALID' });
    // Of what it lists, the chain has nothing: that may be, and ends no approval.
    const { fate } = gate;
    gate.fate = (request) => (request.path.includes('/pipelines') ? { alter: listedOthers } : fate(request));
    expect([(await cancel()).exit, (await approved()).exit]).toEqual([0, 2]);
    gate.fate = () => 'pass';
    expect([(await cancel()).exit, (await approved()).exit]).toEqual([0, 0]);
    // What was never set up has no place on chain; its number may be of another batch by now.
    const renumbered = (one: Fields): Fields => ({ ...cancelled(one), batchIndex: next.batchIndex });
    gate.fate = (request) => (of(waiting.id, request) ? { alter: saying(waiting.id, renumbered) } : 'pass');
    expect((await cancel()).exit).toBe(0);
  });

  itLong(
    'and still waits unlocks none where it is said to be executed with nothing in it, or no node can be asked',
    async () => {
      const { gate, owner, key } = operator;
      const waiting = await begun(operator, 'empty');
      const next = await begun(operator, 'after empty', pipelinesOf('empty').slice(1));
      expect((await operator.run('batch', 'approve', waiting.id, ...words(operator, 'empty'))).exit).toBe(0);
      const none = { total: 0, totalSuccessful: 0, totalFailed: 0, successfulExecutions: [] };
      const executed = ({ initResult, ...batch }: Fields): Fields => ({
        ...{ ...batch, status: 'EXECUTED', executeResult: none },
      });
      const lies = (change: (batch: Fields) => Fields, batch: Fields): void => {
        gate.fate = (request) => {
          if (request.path.includes('/pipelines')) return { alter: listedOthers };
          if (request.path.endsWith('/cancel')) return { answer: { ownerVoteNeeded: false, batch } };
          return of(waiting.id, request) ? { alter: saying(waiting.id, change) } : 'pass';
        };
      };
      const approvals = async () => {
        gate.fate = () => 'pass';
        const approved = await operator.run('batch', 'approve', next.id, ...words(operator, 'after empty'));
        return [approved.exit, approved.stdout];
      };
      const batch = await asked(operator, waiting.id);
      const sign = ['--keypair', owner, '--yes', '--json'];
      lies(executed, executed(batch));
      for (const how of ['cancel', 'execute']) {
        const told = await operator.run('batch', how, waiting.id, ...sign);
        expect([how, told.exit, told.stdout]).toEqual([how, UNKNOWN, '']);
      }
      expect(await approvals()).toEqual([2, '']);
      // A profile with the same pins and no node.
      const { multisig, owner: owned, operator: pays, mintAddress } = template.made;
      const pins = [
        '--multisig',
        multisig,
        '--owner',
        owned.address,
        '--operator',
        pays,
        '--mint',
        mintAddress,
      ];
      const add = ['profile', 'add', 'blind', '--api-url', gate.url, '--api-key-stdin', ...pins];
      expect(await flywheelHere({ home: operator.directory, stdin: key }, ...add)).toMatchObject({ exit: 0 });
      const over = { dateCancelled: '2026-01-31T12:00:00.000Z', status: 'FAILED' };
      for (const change of [{ status: 'EXECUTED', executeResult: { ...none, total: 3 } }, over]) {
        lies((one) => ({ ...one, ...change }), { ...batch, ...change });
        await operator.run('batch', 'cancel', waiting.id, ...sign, '--profile', 'blind');
        expect(await approvals()).toEqual([2, '']);
      }
      expect((await operator.run('batch', 'cancel', waiting.id, ...sign)).exit).toBe(0);
      expect((await operator.run('profile', 'remove', 'blind')).exit).toBe(0);
    },
  );

  itLong(
    'while it is approved on the page of a wallet is not the payment that was agreed to, but another one is none',
    async () => {
      const { owner } = operator;
      const parts = pipelinesOf('parts');
      const [first, all, last] = [
        await begun(operator, 'first part', parts.slice(0, 1)),
        await begun(operator, 'parts', parts),
        await begun(operator, 'last part', parts.slice(2)),
      ];
      const approve = async (name: string, id: string) =>
        expect((await operator.run('batch', 'approve', id, ...words(operator, name), '--again')).exit).toBe(
          0,
        );
      await approve('first part', first.id);
      const child = operator.start('batch', 'approve', all.id, '--wallet', '--json');
      // The page was shown with one proof that is paid, and at the moment of signing one other is.
      const ended = await withPage(child, async (page) => {
        const cancel = ['batch', 'cancel', first.id, '--keypair', owner, '--yes', '--json'];
        expect((await operator.run(...cancel)).exit).toBe(0);
        await approve('last part', last.id);
        await signOn(page, signerOf(owner));
      });
      expectProblem(ended, 2, { stdout: '', message: 'approved meanwhile' });
    },
  );

  it('before anything landed by another machine, while it is executed, is not run again with --rest', async () => {
    const { gate, owner } = operator;
    const before = await operator.happened();
    const file = operator.write('ended.json', pipelinesOf('ended'));
    const run = (...more: string[]) =>
      operator.run('batch', 'run', file, '--keypair', owner, '--yes', '--json', ...more);
    gate.fate = async ({ path }): Promise<Fate> => {
      if (!path.endsWith('/execute')) return 'pass';
      const { id } = JSON.parse(
        String(gate.passed.findLast((one) => one.path.endsWith('/init'))?.content),
      ).batch;
      await asked(operator, `${id}/cancel`, {});
      return 'pass';
    };
    expect((await run()).exit).toBe(10);
    gate.fate = () => 'pass';
    for (const more of [['--rest'], [], ['--rest', '--dry-run']]) {
      expectProblem(await run(...more), 2, { hint: '--again' });
    }
    const { burned, batches } = await operator.happened();
    expect([burned, batches.length]).toEqual([before.burned, before.batches.length + 1]);
    expect((await run('--again')).exit).toBe(0);
  });
});

describe('a burn that failed for the service', () => {
  const burnOf = (order: number, burnAmount: number) => ({
    ...{ type: 'WATCH_AD', proof: { order }, burnAmount, persistOnchain: true },
  });

  it('is not believed to have failed where the chain has its proof', async () => {
    const one = await lied(template);
    const file = one.write('one.json', [burnOf(1, 2)]);
    const says = ({ body }: Answered): Answered => {
      const [{ proof, type: proofType }] = [burnOf(1, 2)];
      expect((body as { success: readonly unknown[] }).success).toHaveLength(1);
      const error = { message: 'No.', type: 'ERR_BURN_TOKENOMICS_FAILED', proof, proofType };
      return { status: 200, body: { success: [], errors: [error] } };
    };
    one.gate.fate = ({ method }) => (method === 'POST' ? { alter: says } : 'pass');
    expectProblem(await one.run('burn-batch', file, '--json'), UNKNOWN, {
      message: /the burn failed, but transaction \w+ on chain has the proof/,
    });
    await one.leave();
  });

  it('has failed where only other burns of its proof are on chain', async () => {
    const one = await lied(template);
    const file = one.write('twice.json', [burnOf(2, 1), burnOf(2, 999_999_999)]);
    const FAILED_IN_PART = 3;
    for (const rest of [[], ['--rest']]) {
      const ended = await one.run('burn-batch', file, ...rest, '--json');
      expect([ended.exit, ended.exit === FAILED_IN_PART ? '' : ended.stderr]).toEqual([FAILED_IN_PART, '']);
    }
    const more = one.write('more.json', [burnOf(3, 1), burnOf(2, 999_999_998)]);
    const send = ['burn-batch', more, '--allow-changed', '--json'];
    // A refused or broken look-up after a request says nothing of the request.
    for (const [status, text] of [
      [413, '{"error":"ERR_PAYLOAD_TOO_LARGE","message":"The door says no."}'],
      [200, '{"items":'],
    ] as const) {
      gateOf(one).fate = (request) => {
        if (!request.path.includes('status=SUCCESS')) return 'pass';
        const replay = { ...request, status, headers: {}, content: Buffer.from(text) };
        return { replay, withHeaders: false, withItsId: true, reaches: false };
      };
      expect((await one.run(...send)).exit).toBe(UNKNOWN);
    }
    gateOf(one).fate = () => 'pass';
    expect((await one.run(...send)).exit).toBe(FAILED_IN_PART);
    expect((await one.happened()).burned).toBe('2');
    expect(one.open()).toEqual([]);
    await one.leave();
  });
});

describe('a batch that failed in part', () => {
  it('is not done once more where less is listed than was executed', async () => {
    const { gate, owner } = operator;
    const before = Number((await operator.happened()).burned);
    const run = (...more: string[]) =>
      operator.run(...['batch', 'run', 'six.json', '--keypair', owner, '--yes', '--json', ...more]);
    // Everything in the vault, of which the next batch burns three.
    const amounts = [20, 20, 20, 20, VAULT_TOKENS - before - 81, 1];
    const six = amounts.map((amount, index) => ({
      ...{ type: 'WATCH_AD', payload: { index }, actions: [{ action: 'BURN', amount }] },
    }));
    const id = await failedInPart(operator, operator.write('six.json', six));
    expect((await run()).exit).toBe(10);
    expect(Number((await operator.happened()).burned) - before).toBe(83);
    const listed = ({ status, body }: Answered): Answered => {
      const { items, ...rest } = body as { items: readonly Fields[] };
      return {
        status,
        body: { ...rest, items: items.map(({ txHash, ...one }) => ({ ...one, state: 'NOT_EXECUTED' })) },
      };
    };
    gate.fate = ({ path }) => (path.includes('/pipelines') ? { alter: listed } : 'pass');
    const rest = await run('--rest');
    expect([rest.exit, rest.stdout]).toEqual([UNKNOWN, '']);
    expect(Number((await operator.happened()).burned) - before).toBe(83);
    // Said to be over, it unlocks no second approval of what is left of it.
    const left = await begun(operator, 'left', six.slice(5));
    gate.fate = (request) => (of(id, request) ? { alter: saying(id, cancelled) } : 'pass');
    expect((await run('--rest')).exit).toBe(UNKNOWN);
    gate.fate = () => 'pass';
    const approved = await operator.run('batch', 'approve', left.id, ...words(operator, 'left'));
    expect([approved.exit, approved.stdout]).toEqual([2, '']);
  });
});

describeLong('what is expected of an execution', () => {
  it('is not left aside where no chain can be read', async () => {
    const { gate } = unpinned;
    const batch = await begun(unpinned, 'expected');
    unpinned.write('other.json', pipelinesOf('other'));
    const { signedTx } = await approval(unpinned, batch);
    const execute = ['batch', 'execute', batch.id, '--signed-tx', signedTx, '--json'];
    const from = gate.requests.length;
    const ended = await unpinned.run(...execute, '--expect', 'other.json');
    expect(ended).toMatchObject({ exit: REFUSED, stdout: '' });
    expect(gate.requests.slice(from).filter(({ path }) => path.endsWith('/execute'))).toEqual([]);
    expect((await unpinned.run(...execute)).exit).toBe(0);
  });
});
