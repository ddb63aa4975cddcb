/**
 * The least that one local burn can take, without any of the program: plain node loads the two native libraries, runs one signed
 * burn in the VM and makes as many durable writes as the program then makes (`strace -e fsync`): two commits in the store, one in
 * the ledger, two in the journal, each file opened and closed. A script, as the program is one: a module takes longer to start.
 * `node burn.cjs prepare DIRECTORY` makes the files, `node burn.cjs run DIRECTORY` burns.
 */
'use strict';
const { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } = require('node:crypto');
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const native = (name) => {
  const target = `${name}${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return require(target);
  try {
    return require(`${target}-gnu`);
  } catch {
    return require(`${target}-musl`);
  }
};
const sqlite = native('@libsql/');

const TOKEN_PROGRAM = Buffer.from('06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9', 'hex');
const SYSTEM_PROGRAM = Buffer.alloc(32);
const DECIMALS = 6;
const SUPPLY = 1_000_000_000_000_000n;
const LAMPORTS = 10_000_000_000n;
const RENT = 2_039_280n;
const BURN_CHECKED = 15;

/** As the program opens its files. */
function open(path) {
  const database = sqlite.databaseOpen(path, '', 'aes256cbc', '', 5_000, '');
  for (const pragma of [
    'journal_mode = WAL',
    'synchronous = FULL',
    'fullfsync = 1',
    'checkpoint_fullfsync = 1',
  ])
    exec(database, `PRAGMA ${pragma}`);
  return database;
}

const exec = (database, sql) => sqlite.databaseExecSync.call(database, sql);
const prepared = (database, sql) => sqlite.databasePrepareSync.call(database, sql);
const write = (database, sql, values) => sqlite.statementRun.call(prepared(database, sql), values);

function commit(database, work) {
  exec(database, 'BEGIN IMMEDIATE');
  work();
  exec(database, 'COMMIT');
}

const publicKeyOf = (key) => createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
const u64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};

/** Wallet, its token account and the mint, as the chain keeps them. */
function accountsOf(wallet) {
  const mint = randomBytes(32);
  const mintData = Buffer.alloc(82);
  u64(SUPPLY).copy(mintData, 36);
  mintData.set([DECIMALS, 1], 44);
  const tokenData = Buffer.concat([
    mint,
    wallet,
    u64(SUPPLY),
    Buffer.alloc(36),
    Buffer.from([1]),
    Buffer.alloc(56),
  ]);
  return [
    [wallet, LAMPORTS, Buffer.alloc(0), SYSTEM_PROGRAM],
    [randomBytes(32), RENT, tokenData, TOKEN_PROGRAM],
    [mint, RENT, mintData, TOKEN_PROGRAM],
  ];
}

function prepare(directory) {
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(join(directory, 'key.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }));
  for (const name of ['store', 'ledger', 'journal']) {
    const database = open(join(directory, `${name}.db`));
    exec(database, 'create table entries (id integer primary key, entry blob)');
    exec(
      database,
      'create table accounts (position integer primary key, address blob, lamports integer, data blob, owner blob)',
    );
    if (name === 'ledger')
      for (const [address, lamports, data, owner] of accountsOf(publicKeyOf(privateKey)))
        write(database, 'insert into accounts (address, lamports, data, owner) values (?, ?, ?, ?)', [
          address,
          Number(lamports),
          data,
          owner,
        ]);
    sqlite.databaseClose.call(database);
  }
}

function readAccounts(ledger) {
  const accounts = [];
  for (let position = 1; position <= 3; position += 1) {
    const statement = prepared(
      ledger,
      'select address, lamports, data, owner from accounts where position = ?',
    );
    sqlite.statementRaw.call(statement, true);
    accounts.push(sqlite.statementGet.call(statement, [position]));
  }
  return accounts;
}

/** One instruction, `BurnChecked` of one base unit, paid for and signed by the wallet; the token program is the last of four accounts. */
function signedBurn(key, [wallet, token, mint]) {
  const message = Buffer.concat([
    Buffer.from([1, 0, 1, 4]),
    ...[wallet, token, mint, TOKEN_PROGRAM],
    randomBytes(32),
    Buffer.from([1, 3, 3, 1, 2, 0, 10, BURN_CHECKED]),
    u64(1n),
    Buffer.from([DECIMALS]),
  ]);
  return Buffer.concat([Buffer.from([1]), sign(null, message, key), message]);
}

function burn(directory) {
  const [store, ledger, journal] = ['store', 'ledger', 'journal'].map((name) =>
    open(join(directory, `${name}.db`)),
  );
  const note = (database, entry) =>
    commit(database, () => write(database, 'insert into entries (entry) values (?)', [entry]));
  const key = createPrivateKey(readFileSync(join(directory, 'key.pem')));
  note(journal, randomBytes(600));
  const { LiteSvm, Account, FailedTransactionMetadata } = native('litesvm-');
  const svm = new LiteSvm();
  svm.setBlockhashCheck(false);
  svm.setTransactionHistory(0n);
  const accounts = readAccounts(ledger);
  for (const [address, lamports, data, owner] of accounts)
    svm.setAccount(address, new Account(BigInt(lamports), data, owner, false, 0n));
  const signed = signedBurn(
    key,
    accounts.map(([address]) => address),
  );
  note(store, signed);
  if (svm.sendVersionedTransaction(signed) instanceof FailedTransactionMetadata)
    throw new Error('The burn failed.');
  commit(ledger, () => {
    write(ledger, 'insert into entries (entry) values (?)', [signed]);
    for (const [index, [address]] of accounts.entries()) {
      const after = svm.getAccount(address);
      const values = [Number(after.lamports()), Buffer.from(after.data()), index + 1];
      write(ledger, 'update accounts set lamports = ?, data = ? where position = ?', values);
    }
  });
  note(store, randomBytes(200));
  note(journal, randomBytes(600));
  process.stdout.write('SUCCESS\n');
  for (const database of [journal, ledger, store]) sqlite.databaseClose.call(database);
}

const [, , step, directory] = process.argv;
if (step === 'prepare') prepare(directory);
else burn(directory);
