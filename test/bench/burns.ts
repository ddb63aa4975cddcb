/**
 * Measures burns: one process against a minimal program, ten thousand against the bare machine, and one on a store with a
 * million.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../../src/chain/account.js';
import { markText } from '../../src/chain/local/ledger/tables.js';
import { loadNative } from '../../src/chain/local/native-vm.js';
import { createFileKeyring } from '../../src/compose/keyring.js';
import { dataFiles, writePrivate } from '../../src/compose/local-config.js';
import { signBurns } from '../../src/engine/burns/chunk.js';
import { type Address, addressBytes } from '../../src/values/address.js';
import { sha256 } from '../../src/values/digest.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { besides, runNode } from './processes.js';
import { type BenchRatio, medianOf } from './ratio.js';
import { burnOf, onDatabase, timed } from './work.js';

const ELEMENTS = 10_000;
const PER_REQUEST = 1_000;
const EARLIER_BURNS = 1_000_000;
const EARLIER_FILES = 6;
const FILE_BURNS = 2_000;

const FLOOR = resolve('test/bench/floor/burn.cjs');
const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"order":"A-1"}', '--amount', '1', '--json'];

async function openCommandLineEngine(): Promise<TestEngine> {
  const opened = await openTestEngine();
  writePrivate(dataFiles(opened.dataDir).apiKey, opened.project.key.reveal());
  return opened;
}

const environment = (env: NodeJS.ProcessEnv, { dataDir }: TestEngine): NodeJS.ProcessEnv => ({
  ...env,
  FLYWHEEL_DATA_DIR: dataDir,
});

export async function benchOneBurn(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const opened = await openCommandLineEngine();
  try {
    const floor = join(opened.dataDir, 'floor');
    mkdirSync(floor);
    await runNode([FLOOR, 'prepare', floor], env);
    const own = environment(env, opened);
    const ratio = await besides([[bin, ...BURN], own], [[FLOOR, 'run', floor], own]);
    const peak = await medianOf(5, async () => (await runNode([bin, ...BURN], own, true)).peakMib);
    return [
      { name: 'one local burn : the floor', ratio, target: 2.5 },
      { name: 'one local burn, peak memory', ratio: peak, target: 100, unit: 'MiB' },
    ];
  } finally {
    await opened.destroy();
  }
}

/** Each file is compared with all that ever landed. */
export async function benchFiles(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const opened = await openCommandLineEngine();
  try {
    const times: number[] = [];
    for (let file = 0; file <= EARLIER_FILES; file += 1) {
      const path = join(opened.dataDir, `${file}.json`);
      const burns = Array.from({ length: FILE_BURNS }, (_, index) => burnOf(file * FILE_BURNS + index));
      writeFileSync(path, JSON.stringify(burns));
      times.push((await runNode([bin, 'burn-batch', path, '--yes'], environment(env, opened))).ms);
    }
    const name = `burn-batch of ${FILE_BURNS} after ${EARLIER_FILES} other files : as the first`;
    return [{ name, ratio: (times.at(-1) ?? 0) / (times[0] ?? 0), target: 1.5 }];
  } finally {
    await opened.destroy();
  }
}

/** Each thousand against the same thousand bare, so that both see the same load of the machine. */
export async function benchManyBurns(): Promise<BenchRatio[]> {
  const opened = await openTestEngine();
  try {
    const bare = await openBareMachine(opened);
    const thousand = async (run: number): Promise<number> => {
      const bareMs = await timed(() => bare.burn(run * PER_REQUEST));
      return bareMs / (await timed(() => burnThousand(opened, run * PER_REQUEST)));
    };
    const ratio = await medianOf(ELEMENTS / PER_REQUEST, thousand);
    const name = `burn-batch of ${ELEMENTS}: rate : the bare limit`;
    return [{ name, ratio, target: 0.3, atLeast: true }];
  } finally {
    await opened.destroy();
  }
}

async function burnThousand({ engine, project }: TestEngine, from: number): Promise<void> {
  const elements = Array.from({ length: PER_REQUEST }, (_, index) => burnOf(from + index));
  const { value } = await engine.burnBatch(elements, project.call({ idempotencyKey: randomUUID() }));
  if (value.success.length !== PER_REQUEST) throw new Error('A burn of the measurement failed.');
}

/** Builds, signs with Node's Ed25519 and runs the same burns in LiteSVM, without a store. */
async function openBareMachine({
  chain,
  store,
  dataDir,
}: TestEngine): Promise<{ burn(from: number): Promise<void> }> {
  const { LiteSvm, Account, FailedTransactionMetadata } = loadNative();
  const [token] = await store.read((tx) => tx.projects.list());
  if (token === undefined) throw new Error('There is no token to burn.');
  const svm = new LiteSvm();
  svm.setBlockhashCheck(false);
  svm.setTransactionHistory(0n);
  const addresses: Address[] = [token.burnWallet, token.burnTokenAccount, token.mintAddress];
  const states = await chain.getAccounts(addresses);
  for (const [index, state] of states.entries()) {
    const { lamports, data, owner, executable } = state as AccountState;
    const account = new Account(lamports, data, addressBytes(owner), executable, RENT_EPOCH_EXEMPT);
    svm.setAccount(addressBytes(addresses[index] as Address), account);
  }
  const wallet = createFileKeyring(dataFiles(dataDir).keys).get(token.burnWallet);
  const recent = await chain.latestBlockhash();
  const proofHash = sha256('bare');
  return {
    async burn(from) {
      for (let sequence = from; sequence < from + PER_REQUEST; sequence += 1) {
        const burn = {
          ...{ index: 0, sequence, amount: 1n, proofType: 'PRODUCT_BUY', proofHash, persistOnchain: false },
        };
        const [signed] = await signBurns(token, wallet, [burn], recent);
        const outcome = svm.sendVersionedTransaction((signed as { transaction: Uint8Array }).transaction);
        if (outcome instanceof FailedTransactionMetadata) throw new Error('A bare burn failed.');
      }
    },
  };
}

export async function benchLargeStore(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const empty = await openCommandLineEngine();
  const full = await openCommandLineEngine();
  try {
    await fillWithBurns(full);
    const burn = [bin, ...BURN];
    const ratio = await besides([burn, environment(env, full)], [burn, environment(env, empty)]);
    return [{ name: `one burn beside ${EARLIER_BURNS} earlier ones : beside none`, ratio, target: 1.2 }];
  } finally {
    await empty.destroy();
    await full.destroy();
  }
}

/** Writes a million burns into ledger and store: copies of a real one with distinct keys. */
async function fillWithBurns({ dataDir, engine, project, close }: TestEngine): Promise<void> {
  await engine.burn(burnOf(0), project.call());
  await close();
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${EARLIER_BURNS})`;
  const { id, mark } = onDatabase(dataFiles(dataDir).ledger, (ledger) => {
    ledger.exec(`
    pragma synchronous = off;
    begin;
    create temp table one as select * from transactions order by id desc limit 1;
    ${numbers} insert into transactions (slot, time_ms, mark, wire, error, logs, fee_lamports, compute_units,
        balances, token_changes, table_addresses, inner_calls)
      select one.slot, one.time_ms, randomblob(32), cast(substr(one.wire, 1, 1) || randomblob(64) || substr(one.wire, 66) as blob), null, one.logs, one.fee_lamports, one.compute_units,
        one.balances, one.token_changes, one.table_addresses, one.inner_calls from n, one;
    commit;`);
    const newest = ledger.prepare('select id, mark from transactions order by id desc limit 1').get();
    return newest as { readonly id: number; readonly mark: Buffer };
  });
  const own = markText({ id, mark: new Uint8Array(mark) });
  onDatabase(dataFiles(dataDir).store, (store) =>
    store.exec(`
    pragma synchronous = off;
    begin;
    create temp table one as select * from burns limit 1;
    ${numbers} insert into burns (sequence, request_id, "index", token_id, key_id, proof_type, proof_hash, amount, persist_onchain,
        day, status, signature, "transaction", last_valid_block_height, date_created)
      select one.sequence + i, 'earlier', i, one.token_id, one.key_id, one.proof_type, one.proof_hash, one.amount, 0,
        one.day, 'PENDING', hex(randomblob(44)), x'00', one.last_valid_block_height, one.date_created from n, one;
    update burns set status = 'FINAL', date_settled = date_created, "transaction" = null where status = 'PENDING';
    update burn_numbers set last = last + ${EARLIER_BURNS};
    update progress set ledger_mark = '${own}';
    commit;`),
  );
}
