/** `flywheel pending resume` of what was begun on a batch and has become pointless: it comes to its end. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { Entry, Journal } from '../../../../src/cli/journal/journal.js';
import type { Batch, InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { type TestCli, testCli } from '../../../support/cli.js';
import { replacing } from '../../../support/doubles.js';
import { exampleReply, fakeService } from '../../../support/fake-service.js';

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';

/** A command line with the owner's keypair, and a service whose batch stands as told. */
function cliWith(status: Batch['status']): TestCli {
  const service = fakeService();
  const batch = exampleReply('getBatch').value as Batch;
  const { executeResult: _executeResult, ...open } = batch;
  service.answer('getBatch', () => ({
    meta: { replayed: false },
    value: status === 'EXECUTED' ? { ...batch, status } : { ...open, id: BATCH_ID, status },
  }));
  const cli = testCli({ service });
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...generateKeypair()]), { mode: 0o600 });
  return cli;
}

const unavailable = (): never => {
  throw new FlywheelError('ERR_UNAVAILABLE', 'The service is out of reach.');
};

describe('pending resume', () => {
  it('gives up the cancelling of a batch that is executed', async () => {
    const cli = cliWith('EXECUTED');
    cli.service.answer('cancelBatch', unavailable);
    const words = ['batch', 'cancel', BATCH_ID, '--keypair', 'owner.json', '--yes'];
    expect((await cli.run(...words)).exit).toBe(6);
    expect(await cli.pending()).toEqual(['cancel open']);
    cli.service.answer('cancelBatch', () => {
      throw new FlywheelError('ERR_INVALID_REQUEST', 'It is EXECUTED; there is nothing to cancel.');
    });
    expect((await cli.run('pending', 'resume')).stderr).toContain('there is nothing to cancel');
    expect(await cli.pending()).toEqual([]);
  });

  it('ends what is being ended before it goes on with anything else', async () => {
    const cli = cliWith('FINALIZED');
    for (const operation of ['burn', 'cancelBatch'] as const)
      cli.service.answer(operation, () => {
        throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
      });
    await cli.run('burn', '--type', 'T', '--proof', '{}', '--amount', '1');
    await cli.run('batch', 'cancel', BATCH_ID, '--keypair', 'owner.json', '--yes');
    expect(await cli.pending()).toEqual(['burn open', 'cancel open']);
    const before = cli.service.calls.length;
    await cli.run('pending', 'resume');
    const acted = cli.service.calls.slice(before).map(({ operation }) => operation);
    expect(acted.filter((operation) => /burn|cancel/.test(operation))).toEqual(['cancelBatch', 'burn']);
  });
});

const FILE = JSON.stringify([{ type: 'T', payload: { a: 1 }, actions: [{ action: 'BURN', amount: '1' }] }]);

describe('a batch that waits', () => {
  it('is resumed as printed when no answer says whether a fresh approval was issued', async () => {
    const cli = cliWith('FINALIZED');
    writeFileSync(join(cli.home, 'p.json'), FILE);
    expect((await cli.run('batch', 'init', 'p.json')).exit).toBe(0);
    cli.service.answer('issueApproval', () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    });
    const lost = await cli.run('batch', 'init', 'p.json');
    expect(lost.exit).toBe(7);
    const { hint } = JSON.parse(lost.stderr.trim().split('\n').at(-1) ?? '');
    const [, words = ''] = /^This resumes safely: flywheel (.*)$/.exec(hint) ?? [];
    cli.service.answer('issueApproval', () => exampleReply('issueApproval'));
    expect(await cli.run(...words.split(' '))).toMatchObject({ exit: 0 });
    expect(cli.service.calls.filter(({ operation }) => operation === 'initBatch')).toHaveLength(1);
  });
});

/** A journal that fails at the write after the first one that follows the answer of init. */
function failing(journal: Journal, hasAnswered: () => boolean): Journal {
  let writes = 0;
  const write = <Value>(act: () => Value): Value => {
    if (hasAnswered()) writes += 1;
    if (writes === 2) throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
    return act();
  };
  const failingEntry = (entry: Entry): Entry =>
    replacing(entry, {
      note: (notes) => write(() => entry.note(notes)),
      keep: (name, answer) => write(() => entry.keep(name, answer)),
    });
  return replacing(journal, {
    begin: (request) => {
      const begun = journal.begin(request);
      return begun.status === 'taken' ? { ...begun, entry: failingEntry(begun.entry) } : begun;
    },
  });
}

describe('batch init', () => {
  it('is found by its batch, though its process ended while that was noted', async () => {
    const { value } = exampleReply('initBatch') as { value: InitBatchResult };
    const first = cliWith('FINALIZED');
    first.service.answer('initBatch', () => ({ meta: { replayed: false }, value }));
    writeFileSync(join(first.home, 'pipelines.json'), FILE);
    const hasAnswered = (): boolean => first.service.calls.some(({ operation }) => operation === 'initBatch');
    const { openService } = first.context;
    const broken = testCli({
      home: first.home,
      service: first.service,
      openers: {
        openService: async (settings) => {
          const opened = await openService(settings);
          return { ...opened, journal: async () => failing(await opened.journal(), hasAnswered) };
        },
      },
    });
    expect((await broken.run('batch', 'init', 'pipelines.json')).stderr).toContain('disk is full');
    const again = await first.run('batch', 'init', 'pipelines.json');
    expect([again.exit, again.exit === 0 ? '' : again.stderr]).toEqual([0, '']);
    const journal = await first.journal();
    expect(journal.takeBatch(value.batch.id)).toBeDefined();
    journal.close();
  });
});
