/**
 * Operators of whom each has one test. Their journals, or the stores of their service, are kept, lost and restored, and other
 * machines work in between.
 */
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { flywheelHere, letGo } from '../support/flywheel-here.js';
import { ask } from '../support/http-serve.js';
import { emptyDirectory, type Spawned } from '../support/spawn.js';
import { anOperator, gateOf, type Mode, type Operator, problemOf } from './operator.js';

const INIT = ['--vault-tokens', '1000'];
export let operator: Operator;

export function oneForEachTest(): void {
  afterEach(() => operator.leave());
}

/** @param pinned - burns need no node of their own. */
export async function meet(mode: Mode, { pinned = true } = {}): Promise<void> {
  operator = await anOperator(mode, INIT, { pinned });
}

const RECIPIENT = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
export const JOURNAL = /^journal\.db/;
export const STORE = /^store\.db/;
export const SERVICE = /^(?:store|ledger)\.db/;

export const burns = (from: number, to: number, amount = 1) =>
  Array.from({ length: to - from }, (_, at) => ({
    ...{ type: 'WATCH_AD', proof: { order: from + at }, burnAmount: amount, persistOnchain: false },
  }));
export const pipelines = (from: number, to: number, amount = 1) => ({
  pipelines: burns(from, to).map(({ type, proof }) => ({
    ...{ type, payload: JSON.stringify(proof) },
    actions: [
      { action: 'BURN', amount },
      { action: 'AIRDROP', toAddress: RECIPIENT, amount },
    ],
  })),
});

export const journalHome = ({ mode, directory, dataDir }: Operator): string =>
  mode === 'embedded' ? dataDir : join(directory, '.config/flywheel');
const files = (directory: string, which: RegExp): readonly string[] =>
  readdirSync(directory).filter((name) => which.test(name));

/** A copy needs nothing closed: the log of a database is copied with it. */
export async function keep(directory: string, which: RegExp, aside: string): Promise<void> {
  mkdirSync(aside, { recursive: true });
  for (const name of files(directory, which)) cpSync(join(directory, name), join(aside, name));
}
export async function restore(directory: string, which: RegExp, aside: string | null): Promise<void> {
  await letGo(directory);
  for (const name of files(directory, which)) rmSync(join(directory, name));
  if (aside !== null) cpSync(aside, directory, { recursive: true });
}

export const burned = async (): Promise<number> => Number((await operator.happened()).burned);
export const burnFile = (name: string, ...more: readonly string[]) =>
  operator.run('burn-batch', name, '--yes', '--json', ...more);
export const once = (amount: number, proof = '{"order":0}') => [
  ...['burn', '--once', '--type', 'WATCH_AD', '--proof', proof, '--amount', String(amount), '--json'],
];
export const runFile = (name: string, ...more: readonly string[]) =>
  operator.run('batch', 'run', name, '--keypair', operator.owner, '--yes', '--json', ...more);

/** Runs a command whose request is lost. @returns that request */
export async function dropped(work: () => Promise<Spawned>) {
  const gate = gateOf(operator);
  gate.fate = ({ method }) => (method === 'POST' ? 'drop' : 'pass');
  expect((await work()).exit).toBe(7);
  gate.fate = () => 'pass';
  const held = gate.requests.findLast(({ method }) => method === 'POST');
  return (body: unknown) =>
    ask(`${gate.url}${held?.path}`, operator.key, { body, idempotencyKey: held?.key ?? '' });
}

/** Another machine runs its own file between the two halves of this one. */
export async function elsewhere(work: () => Promise<Spawned>, exit = 0): Promise<void> {
  if (operator.mode === 'remote') return fromAnotherHome(work, exit);
  const own = join(operator.directory, 'own');
  await keep(journalHome(operator), JOURNAL, own);
  await restore(journalHome(operator), JOURNAL, null);
  expect((await work()).exit).toBe(exit);
  await restore(journalHome(operator), JOURNAL, own);
}

/** With the profile of this machine, and no journal. */
async function fromAnotherHome(work: () => Promise<Spawned>, exit: number): Promise<void> {
  const own = operator;
  const home = emptyDirectory();
  const profiles = '.config/flywheel/profiles.json';
  cpSync(join(own.directory, profiles), join(home, profiles));
  const run = (...words: readonly string[]) =>
    flywheelHere({ home, cwd: own.directory }, ...words, '--max-wait', '0');
  operator = { ...own, run };
  try {
    expect((await work()).exit).toBe(exit);
  } finally {
    operator = own;
  }
}

export const fund = (where: 'burn-wallet' | 'vault', tokens: number) =>
  operator.run(
    ...['local', 'fund', '--to', where, '--tokens', String(tokens), '--data-dir', operator.dataDir],
  );

export async function giveUp(refused: Spawned): Promise<void> {
  const [, line = ''] = /`(flywheel pending forget [^`]+)`/.exec(problemOf(refused).hint ?? '') ?? [];
  expect((await operator.paste(`${line} --yes`)).exit).toBe(0);
}
