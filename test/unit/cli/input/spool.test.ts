/** The elements of a burn-batch are put away while they are read: they are the same operation as ever, and can be carried on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keptBody } from '../../../../src/cli/burn-batch/body.js';
import { listOfBurns, spoolBurns } from '../../../../src/cli/burn-batch/burn-list.js';
import type { Entry } from '../../../../src/cli/journal/journal.js';
import { burnDigests, contentDigest, equalElements } from '../../../../src/cli/operation/elements.js';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { fingerprint, proofHash } from '../../../../src/values/digest.js';
import { complaint } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';
import { testCli } from '../../../support/in-process.js';

const burn = (id: number): BurnRequest => ({
  ...{ type: 'T', proof: { id: String(id) }, burnAmount: 1, persistOnchain: false },
});
/** 2,500, of which one in ten equals the first. */
const BURNS = Array.from({ length: 2_500 }, (_, index) => burn(index % 10 === 0 ? 0 : index));
const CSV = ['type,amount,proof.id', ...BURNS.map(({ proof }) => `T,1,${String(proof['id'])}`), ''].join(
  '\n',
);

async function* stream(burns: readonly BurnRequest[]) {
  yield* burns;
}

/** A service that burns everything, and refuses the requests of these numbers. */
function burning(refused: Set<number>) {
  const service = fakeService();
  const taken: BurnRequest[] = [];
  let count = 0;
  service.answer('burnBatch', ({ input }) => {
    count += 1;
    if (refused.has(count)) throw new FlywheelError('ERR_UNAUTHORIZED', 'The key was revoked.');
    taken.push(...(input as readonly BurnRequest[]));
    const success = (input as readonly BurnRequest[]).map(({ proof, type }) => ({
      ...{ result: 'SUCCESS', hash: proofHash(proof), txHash: `tx${String(proof['id'])}`, type },
      dateBurned: '2026-01-31T12:00:00.000Z',
    }));
    return { meta: { replayed: false }, value: { success, errors: [] } };
  });
  return { service, taken };
}

describe('a spool', () => {
  it('knows of elements what a list in memory does', async () => {
    const journal = await testCli().journal();
    const spool = journal.spool();
    const list = await spoolBurns(spool, stream(BURNS));
    const inMemory = listOfBurns(BURNS);
    const digests = burnDigests(BURNS);
    expect([spool.length, spool.counts]).toEqual([2_500, [1_000, 1_000, 500]]);
    expect(spool.content).toBe(contentDigest(digests));
    expect(list.equal).toEqual(equalElements(BURNS.map((one) => fingerprint({ ...one }))));
    expect(inMemory.equal).toEqual(list.equal);
    const some = [2_499, 0, 1_000, 999];
    expect(list.pick(some)).toEqual(inMemory.pick(some));
    expect(list.digests(some)).toEqual(some.map((index) => digests[index]));
    expect([...list.each(null)]).toEqual(BURNS);
    expect(list.without(new Set(digests.slice(1, 2_499)))).toEqual([0, 2_499]);
    // One after it begins with nothing.
    expect([journal.spool().length, (await spoolBurns(journal.spool(), stream([burn(1)]))).length]).toEqual([
      0, 1,
    ]);
    journal.close();
  });

  it('is not needed to carry on: the journal has the elements until all of them are told of', async () => {
    const { service, taken } = burning(new Set([2]));
    const cli = testCli({ service, stdin: CSV });
    const first = await cli.run('burn-batch', '-', '--format', 'csv');
    expect([first.exit, first.stdout, await cli.pending()]).toEqual([4, '', ['burn-batch open']]);
    const { hint = '' } = complaint(first.stderr);
    const resumed = await cli.run(...hint.replace(/^.*flywheel /, '').split(' '));
    expect([resumed.exit, JSON.parse(resumed.stdout).success.length]).toEqual([0, 2_500]);
    expect(taken).toEqual(BURNS);
    expect(await cli.pending()).toEqual([]);
    const again = await cli.run('burn-batch', '-', '--format', 'csv');
    expect([again.exit, again.stdout, taken.length]).toEqual([0, resumed.stdout, 2_500]);
  });

  it('that was not read to its end has begun nothing', async () => {
    const { service, taken } = burning(new Set());
    const cli = testCli({ service });
    writeFileSync(join(cli.home, 'b.csv'), `${CSV}T,x,1\n`);
    const { exit, stderr } = await cli.run('burn-batch', 'b.csv');
    expect([exit, complaint(stderr).error, taken, await cli.pending()]).toEqual([
      2,
      'ERR_INPUT_INVALID',
      [],
      [],
    ]);
  });

  it('is left out for some of its elements, which others have landed', async () => {
    const { service, taken } = burning(new Set());
    const cli = testCli({ service });
    writeFileSync(join(cli.home, 'some.json'), JSON.stringify(BURNS.slice(0, 1_200)));
    writeFileSync(join(cli.home, 'all.csv'), CSV);
    expect((await cli.run('burn-batch', 'some.json')).exit).toBe(0);
    const refused = await cli.run('burn-batch', 'all.csv');
    expect([refused.exit, complaint(refused.stderr).message]).toEqual([
      2,
      '1200 of 2500 burns have landed before, on 2026-01-31. Nothing was sent.',
    ]);
    expect((await cli.run('burn-batch', 'all.csv', '--only-new')).exit).toBe(0);
    expect(taken).toEqual(BURNS);
    expect((await cli.run('burn-batch', 'all.csv')).exit).toBe(0);
    expect(taken.length).toBe(2_500);
  });
});

describe('keptBody', () => {
  it('takes what earlier versions have kept', () => {
    const entry = {} as Entry;
    const { list, failedOut } = keptBody(entry, { failedOut: '/f', burns: BURNS.slice(0, 3) });
    expect([failedOut, list.length, list.pick([2])]).toEqual([{ path: '/f', force: false }, 3, [burn(2)]]);
  });
});
