/** Kills or interrupts commands at their commits: the same command, or its printed resume line, completes each exactly once. */
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import bs58 from 'bs58';
import { describe, expect, it } from 'vitest';
import { FILES, StoreTables } from '../simulation/audit/tables.js';
import type { Fault } from '../support/faults.js';
import { isLong } from '../support/long.js';
import type { Spawned } from '../support/spawn.js';
import { balancedBooks } from './books.js';
import { DEEDS, type Deed, expectDone } from './deeds.js';
import { anOperator, type Operator, pointsIn, resumeLineOf } from './operator.js';

const UNITS = 1_000_000;
/** More than one intent holds, so that a process can die between two intents. */
const AMOUNTS = Array.from({ length: 260 }, (_, index) => BigInt(index + 1) * 1_000n);
const BURNED = 33.93;

const wallets = Array.from({ length: 3 }, () =>
  bs58.encode(
    Buffer.from(String(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })['x']), 'base64url'),
  ),
);
/** Nine burns of a third of a token and three airdrops, in three bundles. */
const pipelines = Array.from({ length: 9 }, (_, index) => ({
  type: 'WATCH_AD',
  payload: { index },
  actions: [
    { action: 'BURN', amount: index % 3 === 0 ? 0.5 : 0.25 },
    ...wallets
      .slice(index, index + 1)
      .map((toAddress) => ({ action: 'AIRDROP', toAddress, amount: (101 + index) / UNITS })),
    { action: 'MEMO', message: `order ${index}` },
  ],
}));

const withFile = (title: string, content: unknown, burns: number): Deed => {
  const deed = DEEDS[title] as Deed;
  const words = async (operator: Operator, name: string) => {
    const own = await deed.words(operator, name);
    operator.write(`${name}.json`, content);
    return own;
  };
  return { ...deed, words, burns };
};
const elements = AMOUNTS.map((amount, order) => ({
  ...{ type: 'WATCH_AD', proof: { order }, burnAmount: Number(amount) / UNITS },
  persistOnchain: order % 10 === 0,
}));

const ALL: Readonly<Record<string, Deed>> = {
  ...DEEDS,
  'burn-batch': withFile('burn-batch', elements, BURNED),
  'batch init': withFile('batch init', pipelines, 0),
  'batch run (executing)': withFile('batch run (executing)', pipelines, 3),
};
/** Commands with kill points in every check; the others only with LONG=1. */
const OFTEN = ['burn-batch', 'batch run (executing)'];
const NOTHING = { burned: '0', usedToday: { burn: '0', airdrop: '0' }, batches: [] };

describe.each(Object.entries(ALL).filter(([title]) => OFTEN.includes(title) || isLong))(
  '%s',
  (title, deed) => {
    const ready = async (): Promise<{ operator: Operator; words: readonly string[] }> => {
      const operator = await anOperator('embedded');
      return { operator, words: [...(await deed.words(operator, 'file')), '--json'] };
    };

    const runs = async (operator: Operator, words: readonly string[]): Promise<void> => {
      const { exit, stderr } = await operator.run(...words);
      expect([exit, exit === 0 ? '' : stderr]).toEqual([0, '']);
    };

    /** A command killed while it closes its batch's accounts leaves them to a cancel, or to a service. */
    const closes = async ({ dataDir, run }: Operator): Promise<void> => {
      const store = new StoreTables(join(dataDir, FILES.store));
      const left = store.batches().filter(({ isExecuted, isOver }) => isExecuted && !isOver);
      store.close();
      for (const { id } of left) expect((await run('batch', 'cancel', id, '--yes')).exit).toBe(0);
    };

    /** Nothing lost, executed twice, left unknown or charged without an effect. */
    const audit = async (operator: Operator): Promise<void> => {
      await closes(operator);
      // What one command has ended for another is told by its line.
      for (const { outcome, resume } of await operator.pending())
        if (outcome === 'not printed yet') await operator.paste(resume);
      const happened = await operator.happened();
      expectDone(NOTHING, happened, deed);
      const books = balancedBooks(operator.dataDir);
      expect(books.lamports).toBe(operator.template.lamports);
      if (title === 'burn-batch') expect(books.burns(AMOUNTS)).toEqual(AMOUNTS.map(() => 1));
      if (title.startsWith('batch run')) {
        const isOwn = title.includes('executing');
        expect(wallets.map(books.tokensOf)).toEqual(isOwn ? [101n, 102n, 103n] : [0n, 0n, 0n]);
        expect(happened.usedToday).toEqual({ burn: '3', airdrop: isOwn ? '0.000306' : '0' });
        // The operator paid exactly the reported costs, and got its rent back.
        const { operator: paid, vault } = books.costs;
        const { made, operatorLamports, vaultLamports } = operator.template;
        expect(books.lamportsOf(made.operator) + paid).toBe(operatorLamports);
        expect(paid).toBeLessThan(1_000_000n);
        expect(books.lamportsOf(made.vaultAddress) + vault).toBe(vaultLamports);
      }
    };

    /** Runs the resume lines of pending operations. @returns whether there were any. */
    const resumes = async (operator: Operator, broken: Spawned): Promise<boolean> => {
      const rows = await operator.pending();
      // What the service itself has left is no operation.
      const line = rows.map(({ resume }) => resume).find((one) => /resume \w/.test(one)) ?? '';
      if (broken.exit === 130) expect(resumeLineOf(broken)).toEqual(line);
      for (const { resume } of rows) {
        const resumed = await operator.paste(resume);
        // The line of a file whose batch the killed cancel had ended says so.
        const isDone =
          resumed.exit === 0 || (title === 'batch cancel' && / was cancelled /.test(resumed.stderr));
        expect([resumed.exit, isDone ? '' : resumed.stderr]).toEqual([isDone ? resumed.exit : 0, '']);
      }
      return rows.length > 0;
    };

    /** After the faults, runs the listed lines, or the command itself unless each run of it is a new operation. */
    const through = async (faults: readonly Fault[], byLine: boolean): Promise<void> => {
      const { operator, words } = await ready();
      const broken: Spawned[] = [];
      for (const fault of faults) {
        const isOver = broken.some(({ stdout }) => stdout !== '');
        if (!isOver || deed.isNewEachTime !== true) broken.push(await operator.runWith(fault, ...words));
      }
      expect(broken[0]?.exit).not.toBe(0);
      const isNew = deed.isNewEachTime === true;
      const last = broken.at(-1) as Spawned;
      const isOver = byLine || isNew ? await resumes(operator, last) : false;
      if (!isOver && !(isNew && broken.some(({ stdout }) => stdout !== ''))) await runs(operator, words);
      await audit(operator);
    };

    /** Kill points of an undisturbed run, and the ones this check tries. */
    const tried = async (): Promise<readonly (readonly [first: number, second: number])[]> => {
      const { operator, words } = await ready();
      const listFile = join(operator.directory, 'list');
      expect((await operator.runWith({ listFile }, ...words)).exit).toBe(0);
      await audit(operator);
      const { count, money } = pointsIn(listFile);
      if (isLong) return Array.from({ length: count }, (_, index) => [index + 1, 1 + ((index * 7) % count)]);
      expect(money.length).toBeGreaterThanOrEqual(2);
      // A slow run prolongs its leases: a point near the end of one run may lie beyond another.
      const some = [money[0], money[money.length >> 1]].map(Number);
      return some.map((point, at) => [point, at === 0 ? 1 : count]);
    };

    it('is finished once, wherever it is broken off, and whoever carries it on is broken off too', async () => {
      for (const [at, [first, second]] of (await tried()).entries()) {
        const signal = at % 2 === 0 ? 'SIGKILL' : 'SIGINT';
        const faults: readonly Fault[] = [
          { signal: 'SIGKILL', point: first },
          { signal, point: second },
        ];
        await through(faults, at % 2 === 1).catch((error: Error) => {
          error.message = `killed at point ${first}, ${signal} at ${second}: ${error.message}`;
          throw error;
        });
      }
    }, 1_200_000);
  },
);
