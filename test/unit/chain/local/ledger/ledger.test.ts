/** The ledger: damage, a full disk, and slots where clocks are set back; test/contract has all else. */
import { createHash } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccountState } from '../../../../../src/chain/account.js';
import { Ledger, type LedgerOptions, openLedger } from '../../../../../src/chain/local/ledger/ledger.js';
import type { NewTransaction } from '../../../../../src/chain/local/ledger/tables.js';
import { SYSTEM_PROGRAM } from '../../../../../src/chain/programs.js';
import { type FlywheelError, isFlywheelError } from '../../../../../src/errors/flywheel-error.js';
import { openSqliteFile, type SqliteFile } from '../../../../../src/files/sqlite-file.js';
import { base58Decode } from '../../../../../src/values/bytes.js';
import { chainOptions, HandClock, namedSigner } from '../../../../support/chain.js';
import { emptyDirectory } from '../../../../support/spawn.js';

const alice = namedSigner('alice').address;

const account = (lamports: bigint, data = new Uint8Array(0)): AccountState => ({
  lamports,
  owner: SYSTEM_PROGRAM,
  data,
  executable: false,
});

const signatureOf = (name: string): Uint8Array => createHash('sha512').update(name).digest();

const landing = (name: string, lamports: bigint, sizeBytes = 0): NewTransaction => ({
  signature: signatureOf(name),
  wire: Buffer.concat([Buffer.of(1), signatureOf(name), Buffer.from(`rest of ${name}`)]),
  error: null,
  changes: new Map([[alice, account(lamports, new Uint8Array(sizeBytes))]]),
  logs: [`log of ${name}`],
  feeLamports: 5_000n,
  computeUnits: 150n,
  accounts: [alice],
  tableAddresses: new Uint8Array(0),
  innerCalls: [{ within: 1, program: alice, accounts: [alice], data: Buffer.of(1, 2) }],
});

/** A ledger with its SQLite connection, to simulate faults of the operating system. */
async function ledgerWithConnection(options: LedgerOptions): Promise<[Ledger, SqliteFile]> {
  (await openLedger(options)).close();
  const database = await openSqliteFile({ noun: 'ledger', path: options.path, create: true });
  return [new Ledger(database, options), database];
}

const lamportsOf = (ledger: Ledger): bigint | undefined =>
  ledger.read(({ accounts }) => accounts.get(alice)?.lamports);
const latestOf = (ledger: Ledger) =>
  ledger.read(({ clock, transactions }) => clock.latest(transactions.tip.id));
async function unavailable(work: () => unknown): Promise<FlywheelError> {
  try {
    await work();
  } catch (error) {
    if (isFlywheelError(error, 'ERR_STORE_UNAVAILABLE')) return error;
    throw error;
  }
  return expect.unreachable('It should have been refused.');
}

let options: LedgerOptions;
beforeEach(() => {
  options = chainOptions(emptyDirectory());
});

describe('a ledger', () => {
  it('notices that pages are missing when it reads them', async () => {
    const [ledger, database] = await ledgerWithConnection(options);
    for (let block = 0; block < 200; block += 1) {
      ledger.write((draft) => draft.append([landing(`block ${block}`, 1n, 200)]));
    }
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    ledger.close();
    truncateSync(options.path, 8_192);
    const { message } = await unavailable(async () => {
      const broken = await openLedger(options);
      broken.write((draft) => draft.append([landing('more', 2n)]));
    });
    expect(message).toBe(`The ledger ${options.path} is damaged, or the disk failed to read it.`);
  });

  it('believes nothing that a full disk kept from being written', async () => {
    const [ledger, database] = await ledgerWithConnection(options);
    ledger.write((draft) => draft.append([landing('one', 1n)]));
    const latest = latestOf(ledger);
    database.exec(`PRAGMA max_page_count = ${database.number('PRAGMA page_count') + 2}`);

    const error = await unavailable(() =>
      ledger.write((draft) => draft.append([landing('two', 2n, 100_000)])),
    );
    expect(error.message).toBe(`The ledger ${options.path} cannot grow: the disk or the quota is full.`);
    expect(lamportsOf(ledger)).toBe(1n);
    expect(latestOf(ledger)).toEqual(latest);

    database.exec('PRAGMA max_page_count = 1000000');
    ledger.write((draft) => draft.append([landing('two', 2n, 100_000)]));
    expect(lamportsOf(ledger)).toBe(2n);
    ledger.close();
  });
});

describe('two connections to one ledger', () => {
  it('see what the other has committed, accounts and blocks alike', async () => {
    const one = await openLedger(options);
    const two = await openLedger(options);
    for (let round = 1; round <= 20; round += 1) {
      const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one];
      expect(lamportsOf(reader)).toBe(round === 1 ? undefined : BigInt(round - 1));
      writer.write((draft) => {
        expect(draft.get(alice)?.lamports).toBe(round === 1 ? undefined : BigInt(round - 1));
        draft.append([landing(`round ${round}`, BigInt(round))]);
      });
      expect(lamportsOf(reader)).toBe(BigInt(round));
      expect(latestOf(reader)).toEqual(latestOf(writer));
    }
    one.close();
    two.close();
  });
});

describe('the slots', () => {
  const SLOT_MS = 400;
  const slotOf = (ledger: Ledger): number => ledger.read(({ clock }) => clock.slot());

  it('go on from the newest where the clock was set back, in every process', async () => {
    const clock = new HandClock();
    const [one, two] = [await openLedger({ ...options, clock }), await openLedger({ ...options, clock })];
    clock.timeMs += 365 * 86_400_000;
    one.write((draft) => draft.append([landing('ahead', 1n)]));
    const ahead = slotOf(one);
    clock.timeMs -= 365 * 86_400_000;
    for (const [at, ledger] of [two, one, two].entries()) {
      expect(slotOf(ledger)).toBe(ahead + 10 * at);
      clock.timeMs += 10 * SLOT_MS;
    }
    one.close();
    two.close();
    const again = await openLedger({ ...options, clock });
    expect(slotOf(again)).toBe(ahead + 30);
    again.close();
  });

  it('that were only looked at are not shown again where the clock was set back', async () => {
    const clock = new HandClock();
    const ledger = await openLedger({ ...options, clock });
    clock.timeMs += 3_600_000;
    const shown = slotOf(ledger);
    clock.timeMs -= 3_600_000;
    expect(slotOf(ledger)).toBe(shown);
    clock.timeMs += SLOT_MS;
    expect(slotOf(ledger)).toBe(shown + 1);
    ledger.close();
    const other = await openLedger({ ...options, clock });
    expect(slotOf(other)).toBe(shown + 1);
    other.close();
  });

  it('that prove something to have expired are stored before they are told', async () => {
    const clock = new HandClock();
    const [one, two] = [await openLedger({ ...options, clock }), await openLedger({ ...options, clock })];
    const { blockhash } = one.read((tables) => tables.clock.latest(0));
    clock.timeMs += 61_000;
    const proven = one.keepSlot();
    clock.timeMs -= 61_000;
    two.keepSlot();
    const isGood = two.read(({ clock: now }) =>
      now.isGood(base58Decode(blockhash) ?? Buffer.of(), now.slot()),
    );
    expect([isGood, slotOf(two) >= proven]).toEqual([false, true]);
    one.close();
    two.close();
  });
});
