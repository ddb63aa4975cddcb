/** The ledger: durability, visibility between processes, and failed writes. */
import { createHash } from 'node:crypto';
import { statSync, truncateSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccountState } from '../../../../../src/chain/account.js';
import { FIRST_SLOT } from '../../../../../src/chain/local/ledger/clock.js';
import { Ledger, type LedgerOptions, openLedger } from '../../../../../src/chain/local/ledger/ledger.js';
import type { NewTransaction } from '../../../../../src/chain/local/ledger/tables.js';
import { SYSTEM_PROGRAM } from '../../../../../src/chain/programs.js';
import { type FlywheelError, isFlywheelError } from '../../../../../src/errors/flywheel-error.js';
import { openSqliteFile, type SqliteFile } from '../../../../../src/files/sqlite-file.js';
import { base58Decode, base58Encode } from '../../../../../src/values/base58.js';
import { chainOptions, HandClock, namedSigner, treasury } from '../../../../support/chain.js';
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
  const database = await openSqliteFile({
    noun: 'ledger',
    path: options.path,
    create: true,
    inspect: () => undefined,
  });
  return [new Ledger(database, options), database];
}

const lamportsOf = (ledger: Ledger): bigint | undefined =>
  ledger.read(({ accounts }) => accounts.get(alice)?.lamports);
const latestOf = (ledger: Ledger) =>
  ledger.read(({ clock, transactions }) => clock.latest(transactions.tip.id));
const keptOf = (ledger: Ledger, name: string) =>
  ledger.read(({ transactions }) => transactions.kept(base58Encode(signatureOf(name))));
const countOf = (ledger: Ledger): number => ledger.read(({ transactions }) => transactions.tip.id);

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

describe('openLedger', () => {
  it('begins with the accounts of the genesis, in a file that only its owner reads', async () => {
    const ledger = await openLedger(options);
    expect(ledger.read(({ accounts }) => accounts.get(treasury.address)?.lamports)).toBe(
      500_000_000_000_000_000n,
    );
    expect(countOf(ledger)).toBe(0);
    ledger.write((draft) => draft.append([landing('one', 1n)]));
    for (const suffix of ['', '-wal', '-shm'])
      expect(statSync(options.path + suffix).mode & 0o777).toBe(0o600);
    ledger.close();
  });

  it('makes the same blockhashes from the same seed, others without', async () => {
    const hashes = async (given: LedgerOptions) => {
      const ledger = await openLedger(given);
      ledger.write((draft) => draft.append([landing('one', 1n), landing('two', 2n)]));
      const { blockhash } = latestOf(ledger);
      ledger.close();
      return blockhash;
    };
    const seeded = await hashes(options);
    expect(await hashes(chainOptions(emptyDirectory()))).toBe(seeded);
    const { accounts } = options.genesis;
    const random = { ...chainOptions(emptyDirectory()), genesis: { accounts } };
    expect(await hashes(random)).not.toBe(seeded);
  });

  it('finds everything again, and ignores another genesis', async () => {
    const first = await openLedger(options);
    const state = { ...account(2n ** 64n - 1n, Uint8Array.of(1, 2, 3)), executable: true };
    const error = { kind: 'instruction', index: 1, custom: 6000 } as const;
    first.write((draft) =>
      draft.append([{ ...landing('one', 0n), error, changes: new Map([[alice, state]]) }]),
    );
    const latest = latestOf(first);
    first.close();

    const again = await openLedger({ ...options, genesis: { accounts: [] } });
    expect(again.read(({ accounts }) => accounts.get(alice))).toEqual({
      ...state,
      data: Buffer.from([1, 2, 3]),
    });
    expect(latestOf(again)).toEqual(latest);
    expect(keptOf(again, 'one')).toMatchObject({
      innerCalls: [{ within: 1, program: alice, accounts: [alice], data: Buffer.of(1, 2) }],
      signature: base58Encode(signatureOf('one')),
      slot: BigInt(FIRST_SLOT),
      blockTimeMs: options.clock.nowMs(),
      error,
      logs: ['log of one'],
      feeLamports: 5_000n,
      computeUnits: 150n,
      balances: [{ before: 0n, after: 2n ** 64n - 1n }],
      tokenChanges: [],
    });
    again.close();
  });

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
});

describe('Ledger.write', () => {
  it('keeps nothing when the work fails', async () => {
    const ledger = await openLedger(options);
    ledger.write((draft) => draft.append([landing('one', 1n)]));
    const latest = latestOf(ledger);
    expect(() =>
      ledger.write((draft) => {
        draft.append([landing('two', 2n)]);
        expect(draft.get(alice)?.lamports).toBe(2n);
        throw new RangeError('stop');
      }),
    ).toThrow(RangeError);
    expect(lamportsOf(ledger)).toBe(1n);
    expect(latestOf(ledger)).toEqual(latest);
    expect(keptOf(ledger, 'two')).toBeNull();
    ledger.write((draft) => draft.append([landing('three', 3n)]));
    expect(countOf(ledger)).toBe(2);
    ledger.close();
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

  it('gives a transaction the time of its slot, and never an earlier one than before', async () => {
    const clock = new HandClock(1_000_999);
    const ledger = await openLedger({ ...options, clock });
    const first = ledger.write((draft) => draft.clock());
    expect(first).toEqual({ slot: BigInt(FIRST_SLOT), epoch: 0n, unixTimestamp: 1_000n });
    const timeOf = (name: string) => {
      ledger.write((draft) => draft.append([landing(name, 1n)]));
      return keptOf(ledger, name)?.blockTimeMs;
    };
    clock.timeMs = 5;
    expect(timeOf('one')).toBe(1_000_999);
    clock.timeMs += 1_000;
    expect(timeOf('two')).toBe(1_000_999);
    clock.timeMs = 2_000_000;
    expect(timeOf('three')).toBe(2_000_000 - ((2_000_000 - 5) % 400));
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

  it('go by with the time, the same for every process and over a restart', async () => {
    const clock = new HandClock();
    const [one, two] = [await openLedger({ ...options, clock }), await openLedger({ ...options, clock })];
    clock.timeMs += 1_000 * SLOT_MS + 1;
    expect([slotOf(one), slotOf(two)]).toEqual([FIRST_SLOT + 1_000, FIRST_SLOT + 1_000]);
    one.close();
    two.close();
    const again = await openLedger({ ...options, clock });
    clock.timeMs += SLOT_MS;
    expect(slotOf(again)).toBe(FIRST_SLOT + 1_001);
    again.close();
  });

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
