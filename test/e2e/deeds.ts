/** One case for each command that changes something, with the changes expected afterwards. */
import { expect } from 'vitest';
import { MOMENTS } from '../simulation/audit/tables.js';
import type { Happened, Operator } from './operator.js';

export interface Deed {
  words(operator: Operator, name: string): Promise<readonly string[]>;
  readonly path: RegExp;
  readonly burns: number;
  readonly batch: string | null;
  /** Whether the command includes the owner's votes, which need a chain to read. */
  readonly votes: boolean;
  /** Each call is a new operation. */
  readonly isNewEachTime?: boolean;
}

const ELEMENTS = [0, 1, 2];

export const burnsOf = (name: string) =>
  ELEMENTS.map((index) => ({
    type: 'WATCH_AD',
    proof: { name, index },
    burnAmount: 1,
    persistOnchain: false,
  }));

export const pipelinesOf = (name: string) =>
  ELEMENTS.map((index) => ({
    type: 'WATCH_AD',
    payload: { name, index },
    actions: [{ action: 'BURN', amount: 1 }],
  }));

export async function initiated(operator: Operator, name: string): Promise<string> {
  const file = operator.write(`${name}.json`, pipelinesOf(name));
  const { stdout, stderr } = await operator.run('batch', 'init', file, '--json');
  if (stdout === '') throw new TypeError(`batch init failed: ${stderr}`);
  return JSON.parse(stdout).batch.id as string;
}

/**
 * Sets up the batch of a file and kills its execution after both votes landed and before any pipeline did. @returns the batch id.
 */
export async function approvedOnly(operator: Operator, name: string): Promise<string> {
  const id = await initiated(operator, name);
  const words = ['--approval', id, '--keypair', operator.owner, '--yes', '--expect', `${name}.json`];
  const fault = { signal: 'SIGKILL', when: MOMENTS.approved } as const;
  const killed = await operator.runWith(fault, 'batch', 'execute', id, ...words);
  expect(killed).toMatchObject({ signal: 'SIGKILL' });
  expect((await operator.happened()).burned).toBe('0');
  return id;
}

/**
 * Sets up a batch that burns the whole vault, burns three of those tokens elsewhere, then executes the batch. @param more -
 * options of the execution. @returns the batch id.
 */
export async function failedInPart(
  operator: Pick<Operator, 'run' | 'write' | 'owner'>,
  file: string,
  ...more: readonly string[]
): Promise<string> {
  const init = await operator.run('batch', 'init', file, '--json');
  expect(init.stderr).not.toContain('error');
  const { id } = JSON.parse(init.stdout).batch as { id: string };
  const sign = ['--keypair', operator.owner, '--yes'];
  const approved = await operator.run('batch', 'approve', id, ...sign, '--expect', file, '--json');
  const signed = operator.write(`signed-${id}.json`, JSON.parse(approved.stdout));
  const drain = operator.write(`drain-${id}.json`, pipelinesOf(`drain ${id}`));
  expect((await operator.run('batch', 'run', drain, ...sign)).exit).toBe(0);
  const executed = await operator.run('batch', 'execute', id, '--signed-tx', `@${signed}`, ...more);
  expect(executed.exit).toBe(10);
  return id;
}

/** Kills the set-up of a batch after its first bundle landed. @returns the batch id. */
export async function halfSetUp(operator: Operator, name: string): Promise<string> {
  const file = operator.write(`${name}.json`, pipelinesOf(name));
  const fault = { signal: 'SIGKILL', when: MOMENTS.opened } as const;
  expect(await operator.runWith(fault, 'batch', 'init', file)).toMatchObject({ signal: 'SIGKILL' });
  const [batch] = JSON.parse((await operator.run('batch', 'list', '--json')).stdout);
  expect(batch).toMatchObject({ status: 'AVAILABLE_TO_QUEUE' });
  return batch.id;
}

const burnWords = (name: string) => [
  ...['--type', 'WATCH_AD', '--proof', JSON.stringify({ name }), '--amount', '3'],
];
const runWords = (operator: Operator, name: string) => [
  ...['batch', 'run', operator.write(`${name}.json`, pipelinesOf(name))],
  ...['--keypair', operator.owner, '--yes'],
];

export const DEEDS: Readonly<Record<string, Deed>> = {
  burn: {
    words: async (_operator, name) => ['burn', ...burnWords(name)],
    ...{ path: /tokenomics\/burn$/, burns: 3, batch: null, votes: false, isNewEachTime: true },
  },
  'burn --once': {
    words: async (_operator, name) => ['burn', '--once', ...burnWords(name)],
    ...{ path: /tokenomics\/burn$/, burns: 3, batch: null, votes: false },
  },
  'burn-batch': {
    words: async (operator, name) => ['burn-batch', operator.write(`${name}.json`, burnsOf(name))],
    ...{ path: /tokenomics\/burn-batch$/, burns: 3, batch: null, votes: false },
  },
  'batch init': {
    words: async (operator, name) => [
      ...['batch', 'init', operator.write(`${name}.json`, pipelinesOf(name))],
    ],
    ...{ path: /batch\/init$/, burns: 0, batch: 'FINALIZED', votes: false },
  },
  'batch run (setting up)': {
    words: async (operator, name) => runWords(operator, name),
    ...{ path: /batch\/init$/, burns: 3, batch: 'EXECUTED', votes: true },
  },
  'batch run (executing)': {
    words: async (operator, name) => runWords(operator, name),
    ...{ path: /batch\/execute$/, burns: 3, batch: 'EXECUTED', votes: true },
  },
  'batch execute': {
    words: async (operator, name) => {
      const id = await initiated(operator, name);
      const expected = ['--expect', `${name}.json`, '--yes'];
      return ['batch', 'execute', id, '--approval', id, '--keypair', operator.owner, ...expected];
    },
    ...{ path: /batch\/execute$/, burns: 3, batch: 'EXECUTED', votes: true },
  },
  'batch cancel': {
    words: async (operator, name) => [
      ...['batch', 'cancel', await initiated(operator, name), '--keypair', operator.owner, '--yes'],
    ],
    ...{ path: /cancel$/, burns: 0, batch: 'CANCELLED', votes: true },
  },
};

/**
 * Expects that everything happened exactly once since `before`, and nothing else. @param before - state without a batch of this
 * case.
 */
export function expectDone(before: Happened, after: Happened, deed: Deed): void {
  expect({
    burned: Number(after.burned) - Number(before.burned),
    batches: after.batches.slice(before.batches.length),
  }).toEqual({ burned: deed.burns, batches: deed.batch === null ? [] : [deed.batch] });
}
