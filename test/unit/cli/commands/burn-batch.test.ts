/** `flywheel burn-batch`: validating a whole file, splitting it, collecting outcomes, and burning no element twice. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutBurns } from '../../../../src/cli/burn/requests.js';
import { burnElements } from '../../../../src/cli/operation/elements.js';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../../src/values/digest.js';
import { derivedUuid } from '../../../../src/values/ids.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';
import { complaint, person, refusal, refuse, reply } from '../single-command.js';

const burn = (index: number, more: Record<string, unknown> = {}) => ({
  ...{ type: 'WATCH_AD', proof: { index }, burnAmount: 1.5, persistOnchain: false, ...more },
});
const FAILING = burn(1, { proof: { fail: true } });
const many = (count: number) => Array.from({ length: count }, (_, index) => burn(index));

/** A service that fails elements whose proof says so, and gives each other element its own transaction. */
function answeringService() {
  const service = fakeService();
  let landed = 0;
  service.answer('burnBatch', ({ input }) => {
    const burns = input as readonly BurnRequest[];
    const success = burns.filter(({ proof }) => !('fail' in proof));
    return reply({
      success: success.map(({ proof, type }) => {
        landed += 1;
        const dateBurned = '2026-01-31T12:00:00.000Z';
        return { result: 'SUCCESS', hash: proofHash(proof), txHash: `tx${landed}`, type, dateBurned };
      }),
      errors: burns.flatMap(({ proof, type: proofType }) =>
        'fail' in proof ? [{ message: 'not this one', type: 'ERR_INVALID_PROOF', proof, proofType }] : [],
      ),
    });
  });
  return service;
}

type File = string | Uint8Array | readonly unknown[];
const write = ({ home }: TestCli, name: string, file: File): void =>
  writeFileSync(join(home, name), Array.isArray(file) ? JSON.stringify(file) : (file as string));
function cliWith(file: File, options: TestCliOptions = {}): TestCli {
  const cli = testCli({ service: answeringService(), ...options });
  write(cli, 'b.json', file);
  return cli;
}
/** Fails the following requests of this size, or all of them. */
function breaking(cli: TestCli, size?: number): { failure: FlywheelError | null } {
  const inner = cli.service.service.burnBatch;
  const state = {
    failure: new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.') as FlywheelError | null,
  };
  cli.service.service.burnBatch = (input, call) => {
    if (state.failure === null || (size !== undefined && input.length !== size)) return inner(input, call);
    throw state.failure;
  };
  return state;
}
const go = (cli: TestCli, ...words: string[]) => cli.run('burn-batch', 'b.json', ...words);
const sent = ({ service }: TestCli) =>
  service.calls.flatMap(({ input }) => (input === null ? [] : [input as readonly BurnRequest[]]));
const sizes = (cli: TestCli) => sent(cli).map(({ length }) => length);
const keys = ({ service }: TestCli) => service.calls.map(({ call }) => call.idempotencyKey);
const rows = (text: string): { index: number; status: string }[] =>
  JSON.parse(`[${text.trim().replaceAll('\n', ',')}]`);
const RESUMES = expect.stringMatching(/flywheel pending resume [0-9a-f]{8}$/);

describe('burn-batch', () => {
  it('splits a long file into requests with derived keys, and prints a line an element in ndjson', async () => {
    const burns = many(2_500).with(1_700, FAILING);
    const text = `\ufeff${burns.map((one) => JSON.stringify(one)).join('\r\n')}\r\n\r\n`;
    const cli = cliWith(text);
    const { exit, stdout } = await go(cli, '--output', 'ndjson', '--failed-out', 'f.ndjson');
    const [key = ''] = keys(cli);
    expect([exit, sizes(cli), keys(cli)]).toEqual([
      ...[3, [1_000, 1_000, 500], [key, derivedUuid(key, '1'), derivedUuid(key, '2')]],
    ]);
    expect(rows(stdout).map(({ index }) => index)).toEqual(burns.map((_, index) => index));
    expect(rows(stdout).filter(({ status }) => status === 'error')).toMatchObject([{ index: 1_700 }]);
    expect(readFileSync(join(cli.home, 'f.ndjson'), 'utf8')).toBe(`${JSON.stringify(FAILING)}\n`);
  });

  it.each([
    ['a later request', many(1_001), []],
    ['the rest', [burn(0), FAILING], ['--rest']],
  ])(
    'tells a refusal of %s as that, until a try of it may have been carried out',
    async (_what, file, more) => {
      const cli = cliWith(file);
      if (more.length > 0) expect((await go(cli)).exit).toBe(3);
      const state = breaking(cli, 1);
      const ends = async (next: FlywheelError) => {
        state.failure = next;
        const { exit, stderr } = await go(cli, ...more);
        return [exit, complaint(stderr).error, complaint(stderr).hint];
      };
      const refused = new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', 'The cap would be passed.');
      const lost = new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
      const known = [5, 'ERR_DAILY_LIMIT_EXCEEDED', RESUMES];
      const unknown = (hint: unknown) => [7, 'ERR_OUTCOME_UNKNOWN', hint];
      const drops = expect.stringMatching(
        /`flywheel pending resume \w+`\. Or drop .*`flywheel pending forget \w+`/,
      );
      expect([await ends(refused), await ends(refused)]).toEqual([known, known]);
      expect([await ends(lost), await ends(refused)]).toEqual([unknown(RESUMES), unknown(drops)]);
      state.failure = null;
      expect([(await go(cli, ...more)).exit, await cli.pending()]).toEqual([more.length > 0 ? 3 : 0, []]);
    },
  );

  it('leaves nothing pending where the service knows all of a file of which only the new part is sent', async () => {
    const cli = cliWith([burn(0)]);
    await go(cli);
    const state = breaking(cli);
    state.failure = new FlywheelError('ERR_IDEMPOTENCY_KEY_REUSED', 'Another body.', { status: 422 });
    write(cli, 'b.json', [burn(0), burn(1)]);
    const { exit, stderr } = await go(cli, '--rest');
    expect([exit, complaint(stderr).hint]).toEqual([5, expect.any(String)]);
    expect(await cli.pending()).toEqual([]);
  });

  it('points out equal elements before anything is sent', async () => {
    const { stderr } = await go(cliWith([burn(0), burn(1), burn(0), burn(0)]));
    expect(stderr).toMatch(/2 of 4 .*burn 3 equals burn 1/);
  });

  it('adds up a dry run exactly and sends nothing, even without a service', async () => {
    const ofOne = [burn(0, { burnAmount: 0.1 }), burn(1, { burnAmount: '0.2' })];
    const burns = [...ofOne, burn(2, { type: 'PRODUCT_BUY' })];
    const openers = { openService: async () => refuse('ERR_LOCAL_NOT_FOUND', 'none') };
    const { exit, stdout } = await go(cliWith(burns, { openers }), '--dry-run');
    const types = { WATCH_AD: { elements: 2, amount: '0.3' }, PRODUCT_BUY: { elements: 1, amount: '1.5' } };
    const plan = { dryRun: true, elements: 3, foreseen: null, requests: 1, totalAmount: '1.8', types };
    expect([exit, JSON.parse(stdout)]).toEqual([0, plan]);
  });

  it('sends with --strict where nobody can look ahead, and says so', async () => {
    const { exit, stderr } = await go(cliWith(many(2)), '--strict');
    expect([exit, stderr]).toEqual([0, expect.stringContaining('"warning":')]);
  });

  it('is cut where a request would be larger than the service takes, and nowhere else', () => {
    const large = burn(0, { proof: { text: 'x'.repeat(100_000) } }) as BurnRequest;
    const bytesOf = (count: number): number => 1 + count * (JSON.stringify(large).length + 1);
    const counts = cutBurns(Array(250).fill(large));
    expect([counts.length, counts.reduce((sum, count) => sum + count, 0)]).toEqual([7, 250]);
    for (const count of counts.slice(0, -1)) {
      expect(bytesOf(count)).toBeLessThanOrEqual(4 * 1_048_576);
      expect(bytesOf(count + 1)).toBeGreaterThan(4 * 1_048_576);
    }
    expect(cutBurns(Array(2_001).fill(burn(0)))).toEqual([1_000, 1_000, 1]);
  });
});

describe('what the service has done of a file', () => {
  const landed = (index: number) => ({
    ...{ type: 'WATCH_AD', hash: proofHash({ index }), amount: '1.5', status: 'SUCCESS' },
    ...{ txHash: `tx${index}`, dateCreated: '2026-01-31T11:00:00.000Z' },
  });
  /** A command line whose service lists these burns by proof, or fails to. */
  function listing(items: readonly object[] | FlywheelError, options: TestCliOptions = {}): TestCli {
    const cli = cliWith([burn(0), burn(1)], options);
    cli.service.service.listBurns = async ({ proofHash: hashes }) => {
      if (items instanceof FlywheelError) throw items;
      return reply({ items: hashes === undefined ? [] : items, nextCursor: null }) as never;
    };
    return cli;
  }

  it('is said before --again sends it once more, where the journal does not have it', async () => {
    const script = listing([landed(0), landed(1)]);
    const { exit, stderr } = await go(script, '--again', '--quiet');
    expect([exit, JSON.parse(stderr).warning]).toEqual([0, expect.stringContaining('2 landed')]);
    // By then it is in the journal.
    expect((await go(script, '--again', '--quiet')).stderr).toBe('');
    const declined = listing([landed(0)], person('n'));
    const { exit: refused, questions } = await go(declined, '--again');
    expect([refused, questions, sent(declined)]).toEqual([130, [expect.stringContaining('1 landed')], []]);
  });

  it.each([
    ['asked again', '2 of 2 burns landed before'],
    ['not taken for lost by an operation that goes on', 'already landed 2 of the 2 burns'],
  ])('is %s where another process notes a landing meanwhile', async (name, said) => {
    const items: object[] = [];
    const cli = listing(items);
    const { service } = cli.service;
    if (name !== 'asked again') {
      cli.service.answer('burnBatch', () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.'));
      expect((await go(cli)).exit).toBe(7);
    }
    items.push(landed(0), landed(1));
    const { listBurns } = service;
    service.listBurns = async () => {
      service.listBurns = listBurns;
      const other = await cli.journal('other');
      other.noteLanded('burn-batch', burnElements([burn(0), burn(1)]), '2026-01-31T11:00:00.000Z');
      other.close();
      return reply({ items: [], nextCursor: null }) as never;
    };
    const [exit, , message] = await refusal(cli, 'burn-batch', 'b.json');
    expect([exit, message]).toEqual([2, expect.stringContaining(said)]);
  });

  it('is not known where its answer cannot be read: nothing is sent, and the service cannot be used', async () => {
    const cli = listing(new FlywheelError('ERR_RESPONSE_INVALID', 'The service answered 200 with nothing.'));
    for (const more of [[], ['--rest'], ['--again']])
      expect(await refusal(cli, 'burn-batch', 'b.json', ...more)).toEqual([
        ...[6, 'ERR_RESPONSE_INVALID', expect.stringMatching(/with nothing\. Nothing was sent\.$/)],
      ]);
    expect([sent(cli), await cli.pending()]).toEqual([[], []]);
  });

  it('is not asked of a service that has no such list and says so with a page of its framework', async () => {
    const text = 'The service answered 404 with a page.';
    const page = new FlywheelError('ERR_RESPONSE_INVALID', text, { status: 404, exit: 5 });
    const cli = listing(page);
    cli.service.answer('describeKey', () => Promise.reject(page));
    const down = () => refuse('ERR_RESPONSE_INVALID', text);
    cli.service.answer('currentBatch', down);
    // A proxy without its service answers the same.
    expect(await refusal(cli, 'burn-batch', 'b.json')).toEqual([
      ...[5, 'ERR_RESPONSE_INVALID', expect.stringContaining('Nothing was sent.')],
    ]);
    cli.service.answer('currentBatch', () => reply(null));
    const { exit, stderr } = await go(cli);
    expect([exit, stderr]).toEqual([0, expect.stringMatching(/Only the journal/)]);
    expect((await go(cli, '--again')).exit).toBe(0);
  });
});

describe('pending forget of a burn-batch', () => {
  const idOf = async (cli: TestCli): Promise<string> => JSON.parse((await cli.run('pending')).stdout)[0].id;

  it('knows on what has landed, though nobody has seen it', async () => {
    const broken = cliWith([burn(0)], { unwritable: 'the disk is full' });
    expect((await go(broken)).exit).toBe(1);
    const mended = cliWith([burn(0)], { home: broken.home });
    const forgotten = await mended.run('pending', 'forget', await idOf(mended), '--yes');
    expect([forgotten.exit, await mended.pending()]).toEqual([0, []]);
    expect([(await go(mended)).exit, sent(mended)]).toEqual([0, []]);
  });
});
