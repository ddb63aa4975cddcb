/** A service that says of one batch what is true of another, or of none: nothing is signed, done twice or believed for it. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { addSignature } from '../../src/approval/build-approval.js';
import { voteMessage } from '../../src/chain/squads/instructions/vote.js';
import { partiallySign } from '../../src/chain/transaction/compile.js';
import { createKeypairSigner } from '../../src/chain/transaction/signer.js';
import { address } from '../../src/values/address.js';
import { initiated, pipelinesOf } from '../support/deeds.js';
import type { Gate, GateRequest } from '../support/gate.js';
import { ask } from '../support/http-serve.js';
import { anOperator, makeTemplate, type Operator, problemOf, type Template } from '../support/operator.js';
import { startRpcNode } from '../support/rpc-node.js';
import { emptyDirectory } from '../support/spawn.js';
import { onTerminal } from '../support/terminal.js';

const BIN = new URL('../../bin/flywheel.js', import.meta.url).pathname;
const REFUSED = 9;
const UNKNOWN = 7;

let template: Template;
beforeAll(async () => {
  template = await makeTemplate('--vault-tokens', '100');
});

type Answered = { status: number; body: unknown };
type Fields = Readonly<Record<string, unknown>>;

interface Lied extends Operator {
  readonly gate: Gate;
}

async function lied(options: { readonly pinned?: boolean } = {}): Promise<Lied> {
  const operator = await anOperator('remote', template, options);
  const { gate } = operator;
  if (gate === null) throw new TypeError('There is nothing between this operator and the service.');
  return { ...operator, gate };
}

const asked = async ({ gate, key }: Lied, path: string, body?: unknown): Promise<Fields> =>
  (await ask(`${gate.url}/v1/flywheel/batch/${path}`, key, {
    ...(body === undefined ? {} : { body, idempotencyKey: randomUUID() }),
  }).then((answer) => answer.json())) as Fields;

/** Another batch with the same pipelines, which nobody has asked for. @returns its id. */
async function twinOf(operator: Lied, name: string): Promise<string> {
  const pipelines = pipelinesOf(name).map((one) => ({ ...one, payload: JSON.stringify(one.payload) }));
  const { batch } = await asked(operator, 'init', { pipelines });
  return (batch as { id: string }).id;
}

/** Changes what is said of a batch wherever it is said. */
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

describe('a batch that is another one by now', () => {
  it('is not approved again, though its pipelines are the same', async () => {
    const operator = await lied();
    const { gate } = operator;
    const id = await initiated(operator, 'same');
    const twin = await twinOf(operator, 'same');
    expect((await operator.run('batch', 'approve', id, ...words(operator, 'same'))).exit).toBe(0);
    const other = await asked(operator, `${twin}/approval`, {});
    const said = { ...other, batch: { ...(other['batch'] as Fields), id } };
    gate.fate = (request) => (request.path.endsWith(`${id}/approval`) ? { answer: said } : 'pass');
    const again = await operator.run('batch', 'approve', id, ...words(operator, 'same'));
    expect(again).toMatchObject({ exit: REFUSED, stdout: '' });
    expect(problemOf(again).message).toMatch(
      /is number 2 of the multisig; when it was approved .* it was number 1\.$/,
    );
    await operator.leave();
  });

  it.each(['FINALIZED', 'AVAILABLE_TO_QUEUE'])(
    'is not approved in place of the one whose execution is asked for (%s)',
    async (status) => {
      const operator = await lied();
      const { gate } = operator;
      const id = await initiated(operator, 'same');
      const twin = await twinOf(operator, 'same');
      const other = await asked(operator, `${twin}/approval`, {});
      const said = { ...other, batch: { ...(other['batch'] as Fields), id, status } };
      gate.fate = (request) => (request.path.endsWith(`${id}/approval`) ? { answer: said } : 'pass');
      const ran = await operator.run('batch', 'execute', id, '--approval', id, ...words(operator, 'same'));
      expect(ran.exit).not.toBe(0);
      expect(gate.requests.filter(({ path }) => path.endsWith('/execute'))).toEqual([]);
      await operator.leave();
    },
  );

  // While a batch is set up it may still take another number, so that this alone is no contradiction.
  it.each(['FINALIZED', 'AVAILABLE_TO_QUEUE'])(
    'is not voted down in place of the one that was shown (%s)',
    async (status) => {
      const operator = await lied();
      const { gate } = operator;
      const id = await initiated(operator, 'bad');
      const good = await initiated(operator, 'good');
      const { batchIndex } = await asked(operator, good);
      expect(batchIndex).toBe('2');
      const { multisig } = template.made;
      const vote = { kind: 'reject', multisig: address(multisig), batchIndex: 2n } as const;
      const member = address(template.made.owner.address);
      const unsigned = voteMessage({ ...vote, member, payer: member, blockhash: multisig });
      const cancelTx = Buffer.from(partiallySign(unsigned, [])).toString('base64');
      let looks = 0;
      gate.fate = (request) => {
        if (request.path.endsWith('/cancel')) return { answer: { ownerVoteNeeded: true, cancelTx } };
        looks += of(id, request) ? 1 : 0;
        return { alter: saying(id, (batch) => ({ ...batch, ...(looks > 1 ? { batchIndex } : { status }) })) };
      };
      const { owner } = operator;
      const ended = await operator.run('batch', 'reject', id, '--keypair', owner, '--yes', '--json');
      expect(ended.stdout).toBe('');
      expect(gate.requests.filter(({ path }) => path.endsWith(`${id}/cancel`))).toHaveLength(1);
      await operator.leave();
    },
  );
});

describe('what is left of a batch whose mint cannot be read', () => {
  it('is shown all the same before a vote against it', async () => {
    const operator = await lied();
    const id = await initiated(operator, 'three');
    const { multisig, owner, operator: service } = template.made;
    const pins = { multisig, owner: owner.address, operator: service, vaultIndex: 0, mint: multisig };
    operator.gate.fate = ({ path }) => {
      const vote = { kind: 'reject', multisig: address(multisig), batchIndex: 1n } as const;
      const member = address(owner.address);
      const unsigned = voteMessage({ ...vote, member, payer: member, blockhash: multisig });
      const cancelTx = Buffer.from(partiallySign(unsigned, [])).toString('base64');
      return path.endsWith('/cancel') ? { answer: { ownerVoteNeeded: true, cancelTx } } : 'pass';
    };
    const cancel = ['batch', 'cancel', id, '--keypair', operator.owner, '--yes', '--json'];
    const { stderr } = await operator.run(...cancel, '--pins', operator.write('pins.json', pins));
    expect(stderr).not.toContain('no chain was read');
    expect(stderr).toMatch(/total burn +3 tokens\\n/);
    await operator.leave();
  });
});

describe('a batch that is said to be cancelled', () => {
  const cancelled = (batch: Fields): Fields => {
    const { initResult, executeResult, ...rest } = batch;
    return { ...rest, status: 'FAILED', dateCancelled: '2026-01-31T12:00:00.000Z' };
  };

  it('and was executed is not begun once more', async () => {
    const operator = await lied();
    const { gate } = operator;
    const file = operator.write('three.json', pipelinesOf('three'));
    const run = ['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'];
    gate.fate = ({ path }) => (path.endsWith('/execute') ? 'lose' : 'pass');
    expect((await operator.run(...run)).exit).toBe(UNKNOWN);
    expect(await operator.happened()).toMatchObject({ burned: '3' });
    const [{ id }] = JSON.parse((await operator.run('batch', 'list', '--json')).stdout);
    gate.fate = ({ path }) => {
      if (path.includes(`${id}/pipelines`)) return { answer: { items: [], nextCursor: null } };
      return path.endsWith(id) ? { alter: saying(id, cancelled) } : 'pass';
    };
    const again = await operator.run(...run);
    expect([again.exit, again.stdout]).toEqual([UNKNOWN, '']);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    gate.fate = () => 'pass';
    expect((await operator.run(...run)).exit).toBe(0);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    expect(await operator.pending()).toEqual([]);
    await operator.leave();
  });

  it.each(['cancel', 'reject'])('and still waits on chain is not over (%s)', async (command) => {
    const operator = await lied();
    const { gate } = operator;
    const id = await initiated(operator, 'three');
    const batch = cancelled(await asked(operator, id));
    gate.fate = ({ path }) =>
      path.endsWith('/cancel') ? { answer: { ownerVoteNeeded: false, batch } } : 'pass';
    const ended = await operator.run('batch', command, id, '--keypair', operator.owner, '--yes', '--json');
    expect([ended.exit, ended.stdout]).toEqual([UNKNOWN, '']);
    gate.fate = (request) => (request.path.endsWith(id) ? { alter: saying(id, cancelled) } : 'pass');
    const again = await operator.run('batch', 'init', 'three.json', '--json');
    expect([again.exit, again.stdout]).toEqual([UNKNOWN, '']);
    expect(await operator.happened()).toMatchObject({ batches: ['FINALIZED'] });
    await operator.leave();
  });
});

describe('a batch that failed in part', () => {
  it('is not done once more where less is listed than was executed', async () => {
    const operator = await lied();
    const { gate, owner } = operator;
    const amounts = [20, 20, 20, 20, 50, 1].map((amount, index) => ({
      ...{ type: 'WATCH_AD', payload: { index }, actions: [{ action: 'BURN', amount }] },
    }));
    const run = (name: string, ...more: string[]) =>
      operator.run('batch', 'run', name, '--keypair', owner, '--yes', '--json', '--no-simulate', ...more);
    operator.write(
      'six.json',
      amounts.map((one, at) => (at === 4 ? { ...one, actions: [{ action: 'BURN', amount: 19 }] } : one)),
    );
    expect((await operator.run('batch', 'init', 'six.json', '--json')).exit).toBe(0);
    expect((await run(operator.write('three.json', pipelinesOf('three')))).exit).toBe(0);
    expect((await run('six.json')).exit).toBe(10);
    expect(await operator.happened()).toMatchObject({ burned: '83' });
    const listed = ({ status, body }: Answered): Answered => {
      const { items, ...rest } = body as { items: readonly Fields[] };
      return {
        status,
        body: { ...rest, items: items.map(({ txHash, ...one }) => ({ ...one, state: 'NOT_EXECUTED' })) },
      };
    };
    gate.fate = ({ path }) => (path.includes('/pipelines') ? { alter: listed } : 'pass');
    const rest = await run('six.json', '--rest');
    expect([rest.exit, rest.stdout]).toEqual([UNKNOWN, '']);
    expect(await operator.happened()).toMatchObject({ burned: '83' });
    await operator.leave();
  });
});

describe('a flywheel that is pinned at its first use', () => {
  it.each(['with a profile', 'for this command only'])('is held to it at once, %s', async (how) => {
    const operator = await lied({ pinned: false });
    const { gate, owner, key, dataDir, directory } = operator;
    const node = await startRpcNode(dataDir);
    const home = how === 'with a profile' ? directory : emptyDirectory();
    const file = join(directory, operator.write('three.json', pipelinesOf('three')));
    const failed = {
      ...{ total: 3, totalSuccessful: 0, totalFailed: 3, successfulExecutions: [] },
      failedTxMsg: 'Not today.',
    };
    gate.fate = ({ path }) => {
      const lie = ({ status, body }: Answered): Answered =>
        'result' in (body as Fields)
          ? { status, body: { ...(body as Fields), result: failed } }
          : saying(String((body as Fields)['id']), (batch) =>
              batch['status'] === 'EXECUTED' ? { ...batch, status: 'FAILED', executeResult: failed } : batch,
            )({ status, body });
      return /batch\/(execute|[0-9a-f-]{36})$/.test(path) ? { alter: lie } : 'pass';
    };
    const place = how === 'with a profile' ? '' : `--api-url ${gate.url}`;
    const line = `'${process.execPath}' '${BIN}' batch run ${file} --keypair ${owner} --rpc-url ${node.url} ${place}`;
    const { status, text } = await onTerminal(home, line, { NO_COLOR: '1', FLYWHEEL_API_KEY: key }, 'y');
    expect([status, text]).toEqual([UNKNOWN, expect.stringContaining('Is this your flywheel')]);
    expect(text).toContain('The service says that 0 of 3 transactions');
    await node.close();
    await operator.leave();
  });
});

describe('what is expected of an execution', () => {
  it('is not left aside where no chain can be read', async () => {
    const operator = await lied({ pinned: false });
    const { gate, owner } = operator;
    const id = await initiated(operator, 'three');
    operator.write('other.json', pipelinesOf('other'));
    const { proposalApproveTx } = await asked(operator, `${id}/approval`, {});
    const wire = Buffer.from(String(proposalApproveTx), 'base64');
    const signer = createKeypairSigner(Uint8Array.from(JSON.parse(readFileSync(owner, 'utf8'))));
    const signed = Buffer.from(addSignature(wire, signer)).toString('base64');
    const execute = ['batch', 'execute', id, '--signed-tx', signed, '--json'];
    const ended = await operator.run(...execute, '--expect', 'other.json');
    expect(ended).toMatchObject({ exit: REFUSED, stdout: '' });
    expect(gate.requests.filter(({ path }) => path.endsWith('/execute'))).toEqual([]);
    expect((await operator.run(...execute)).exit).toBe(0);
    await operator.leave();
  });
});
