/**
 * Every table of the store, described once. Types of rows, the schema of both databases and the mapping between values and
 * cells all follow from it: a new column is one line here.
 *
 * A column has one meaning wherever its name occurs. In the database names are in snake case.
 */
import type { Selectable } from 'kysely';
import { ACTION_NAMES, type SourceAction } from '../actions/registry.js';
import type { TokenGeneration, TokenProgramName } from '../contract/admin.js';
import type { KeyedOperationId } from '../contract/operations.js';
import type { BatchStatus, ExecuteResult, InitResult } from '../contract/schemas/batch.js';
import type { Address } from '../values/address.js';
import type { Sha256 } from '../values/digest.js';
import type { Scope } from '../values/key-terms.js';
import type { UtcDay } from '../values/time.js';
import {
  type AnyTable,
  boolean,
  bytes,
  type Column,
  integer,
  json,
  oneOf,
  optional,
  ordinal,
  type TableDescription,
  text,
  u64,
} from './columns.js';

const AUDIT_ACTIONS = ['register', 'keys.create', 'keys.revoke', 'caps.set', 'gap.accept', 'copy'] as const;

/** Conditions of partial indexes, as statements have to write them out too. */
export const OPEN_BURN = "status in ('PENDING', 'CONFIRMED')";
export const LANDED_BURN = "status in ('CONFIRMED', 'FINAL')";

const table = <Columns extends Readonly<Record<string, Column>>>(
  description: TableDescription<Columns>,
): TableDescription<Columns> => description;

/** In an order in which each row finds those that it refers to. */
export const TABLES = {
  tokens: table({
    key: ['id'],
    columns: {
      id: text(),
      name: text(),
      symbol: text(),
      mintAddress: text<Address>(),
      decimals: integer('between 0 and 255'),
      tokenProgram: oneOf<TokenProgramName>('token', 'token-2022'),
      generation: oneOf<TokenGeneration>('v1', 'v2'),
      /** Base units ever minted. */
      supply: u64(),
      /** Wallet whose tokens the two burn operations burn; it pays their fees too. */
      burnWallet: text<Address>(),
      burnTokenAccount: text<Address>(),
      dateCreated: text(),
    },
    unique: [['mintAddress']],
  }),

  flywheels: table({
    key: ['id'],
    columns: {
      id: text(),
      tokenId: text(),
      multisig: text<Address>(),
      vaultIndex: integer('between 0 and 255'),
      vault: text<Address>(),
      vaultTokenAccount: text<Address>(),
      owner: text<Address>(),
      /** Initiates, approves and executes; pays fees and rent. */
      operator: text<Address>(),
      proofTypes: json<readonly string[]>(),
      /** Base units a UTC day; `null` for no cap. */
      dailyBurnCap: optional(u64()),
      dailyAirdropCap: optional(u64()),
      /** When one of them was lowered last: what was accepted before keeps its room. */
      dateCapsLowered: optional(text()),
      /** Unique among the projects of a database; `null` where a store holds one project. */
      name: optional(text()),
      /** Who may act for it and what its token allows, as it was confirmed at its registration on a cluster. */
      facts: optional(json<Readonly<Record<string, string>>>()),
      /** Lamports that are left to the operator at least; `null`: as usual. */
      minOperatorSol: optional(u64()),
      /** Lamports of rent that waiting batches may take together; `null`: as usual. */
      maxBatchRent: optional(u64()),
    },
    unique: [['tokenId'], ['multisig', 'vaultIndex'], ['id', 'tokenId']],
    references: [{ columns: ['tokenId'], to: 'tokens (id)' }],
    indexes: [{ name: 'flywheels_name', on: 'name', where: 'name is not null', isUnique: true }],
  }),

  apiKeys: table({
    key: ['id'],
    columns: {
      id: text(),
      tokenId: text(),
      /** SHA-256 of the key; the key itself is nowhere. */
      hash: text<Sha256>(),
      /** By which people tell it from others. */
      name: optional(text()),
      scopes: json<readonly Scope[]>(),
      /** `null`: every proof type of the flywheel. */
      proofTypes: optional(json<readonly string[]>()),
      dateCreated: text(),
      dateRevoked: optional(text()),
      /** Valid before, and not from then on; `null` for a key without an end. */
      dateExpires: optional(text()),
    },
    unique: [['hash'], ['id', 'tokenId']],
    references: [{ columns: ['tokenId'], to: 'tokens (id)' }],
    indexes: [{ name: 'api_keys_of_token', on: 'token_id' }],
  }),

  batches: table({
    key: ['ordinal'],
    columns: {
      /** Rises with every batch; tells the newest. */
      ordinal: ordinal(),
      id: text(),
      flywheelId: text(),
      tokenId: text(),
      keyId: text(),
      /** The init request that made it, which may be forgotten. */
      requestId: text(),
      status: oneOf<BatchStatus>('AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED'),
      /** Index within the multisig; until the set-up has opened the batch on chain another may take it. */
      batchIndex: u64(),
      /** Day of its init, on whose caps its amounts count while it waits. */
      day: text<UtcDay>(),
      initResult: optional(json<InitResult>()),
      executeResult: optional(json<ExecuteResult>()),
      /** What all its pipelines come to; base units. */
      pipelineCount: integer('>= 0'),
      burn: u64(),
      airdrop: u64(),
      /** Different wallets that it airdrops to. */
      recipients: integer('>= 0'),
      /** Rent that its accounts are expected to take on chain while it is not closed. */
      setupRentLamports: u64(),
      /** Who works on it, and until when that is believed; a name of its own for each time that it is taken. */
      holder: optional(text()),
      leaseUntilMs: integer(),
      dateCreated: text(),
      dateUpdated: text(),
      /** When it was cancelled, or `null`. */
      dateCancelled: optional(text()),
      /** When nothing of it was left on chain, or `null`. */
      dateClosed: optional(text()),
    },
    unique: [['id'], ['id', 'tokenId']],
    // A batch is of one project, and so are the flywheel and the key that it names.
    references: [
      { columns: ['flywheelId', 'tokenId'], to: 'flywheels (id, token_id)' },
      { columns: ['keyId', 'tokenId'], to: 'api_keys (id, token_id)' },
    ],
    checks: [
      "date_cancelled is null or status = 'FAILED'",
      "status in ('AVAILABLE_TO_QUEUE', 'FINALIZED') or execute_result is not null",
    ],
    indexes: [
      {
        name: 'batches_open',
        on: 'token_id, ordinal',
        where: "status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')",
      },
      { name: 'batches_status', on: 'status' },
      { name: 'batches_of_token', on: 'token_id, ordinal' },
      { name: 'batches_not_closed', on: 'flywheel_id', where: 'date_closed is null' },
    ],
  }),

  /** What a batch is made of, in the order in which it is executed, and what each of these did. */
  pipelines: table({
    key: ['batchId', 'position'],
    columns: {
      batchId: text(),
      position: integer('>= 0'),
      tokenId: text(),
      /** Of its proof. */
      type: text(),
      payload: text(),
      proofHash: text<Sha256>(),
      /** As they were asked for, in whole tokens. */
      actions: json<readonly SourceAction[]>(),
      /** Argument form of the vault message (squads-v4.md, section 3), base64. */
      message: text(),
      /** Base units that all its actions burn and airdrop. */
      burn: u64(),
      airdrop: u64(),
      /** Of the transaction that executed it; `null` also where members have, and the chain does not tell it. */
      signature: optional(text()),
      /** When it was executed, as far as is known here; `null` while it is not. */
      dateLanded: optional(text()),
    },
    references: [{ columns: ['batchId', 'tokenId'], to: 'batches (id, token_id)' }],
    checks: ['signature is null or date_landed is not null'],
    indexes: [
      { name: 'pipelines_of_type', on: 'batch_id, type' },
      { name: 'pipelines_of_proof', on: 'substr(proof_hash, 1, 16)' },
      { name: 'pipelines_signature', on: 'signature', where: 'signature is not null' },
      { name: 'pipelines_landed', on: 'token_id, date_landed', where: 'date_landed is not null' },
    ],
    rowsPerPage: 50,
  }),

  /** The actions of pipelines, in base units. */
  pipelineActions: table({
    key: ['batchId', 'position', 'number'],
    columns: {
      batchId: text(),
      position: integer('>= 0'),
      /** Within the pipeline, from 0. */
      number: integer('>= 0'),
      kind: oneOf(...ACTION_NAMES),
      /** `null` where it moves nothing. */
      amount: optional(u64()),
      recipient: optional(text<Address>()),
    },
    references: [{ columns: ['batchId', 'position'], to: 'pipelines (batch_id, position)' }],
    indexes: [
      { name: 'pipeline_actions_of_kind', on: 'batch_id, kind' },
      { name: 'pipeline_actions_to', on: 'recipient, batch_id', where: 'recipient is not null' },
    ],
  }),

  /** What of a batch may still land, and on which days it counts. */
  usageHolds: table({
    key: ['batchId', 'kind'],
    columns: {
      batchId: text(),
      kind: oneOf('burn', 'airdrop'),
      tokenId: text(),
      /** Base units; a hold of nothing is none. */
      amount: u64(),
      fromDay: text<UtcDay>(),
      /** `null`: every day from then on. */
      toDay: optional(text<UtcDay>()),
    },
    references: [{ columns: ['batchId', 'tokenId'], to: 'batches (id, token_id)' }],
    indexes: [{ name: 'usage_holds_of_token', on: 'token_id, kind' }],
  }),

  /** Votes that were handed out for the owner to sign; the operator pays and has signed. */
  issuedVotes: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      batchId: text(),
      kind: oneOf('approve', 'reject', 'cancel'),
      /** Wire bytes; the owner's signature is missing. */
      transaction: bytes(),
      /** The operator's signature, base58: the name of the transaction on chain. */
      signature: text(),
      lastValidBlockHeight: u64(),
      /** It can land no more, and has its costs if it has landed. */
      isOver: boolean(),
      dateCreated: text(),
    },
    unique: [['signature']],
    references: [{ columns: ['batchId'], to: 'batches (id)' }],
    indexes: [
      { name: 'issued_votes_of_batch', on: 'batch_id, ordinal' },
      { name: 'issued_votes_open', on: 'ordinal', where: 'is_over = 0' },
    ],
  }),

  /** What each transaction of a batch that has landed, or failed on chain, has changed. */
  batchCosts: table({
    key: ['signature'],
    columns: {
      signature: text(),
      /** Of the first, where members have executed several with one transaction. */
      batchId: text(),
      /** Lamports before it minus lamports after it: below 0 where it has brought some. */
      operatorLamports: integer(),
      vaultLamports: integer(),
    },
    references: [{ columns: ['batchId'], to: 'batches (id)' }],
    indexes: [{ name: 'batch_costs_of_batch', on: 'batch_id' }],
  }),

  /** Steps of batches: transactions that land together. */
  bundles: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      id: text(),
      batchId: text(),
      phase: oneOf('SETUP', 'OWNER_APPROVAL', 'OPERATOR_APPROVAL', 'EXECUTE', 'CANCEL', 'CLOSE'),
      /** Index of its first transaction within its phase, from 0. */
      first: integer('>= 0'),
      /** SHA-256 over the comma-joined signatures. */
      bundleId: text<Sha256>(),
      lastValidBlockHeight: u64(),
      status: oneOf('PENDING', 'LANDED', 'FAILED', 'EXPIRED'),
      errorMessage: optional(text()),
      /** Within the bundle, from 0. */
      failedTransaction: optional(integer()),
    },
    unique: [['id'], ['bundleId']],
    references: [{ columns: ['batchId'], to: 'batches (id)' }],
    indexes: [
      { name: 'bundles_of_batch', on: 'batch_id' },
      // Of each step no more than one bundle is under way or done: a step is never taken twice.
      {
        name: 'bundles_live',
        on: 'batch_id, phase, first',
        where: "status in ('PENDING', 'LANDED')",
        isUnique: true,
      },
    ],
  }),

  bundleTransactions: table({
    key: ['bundle', 'position'],
    columns: {
      bundle: text(),
      position: integer('>= 0'),
      signature: text(),
      bytes: bytes(),
    },
    unique: [['signature']],
    references: [{ columns: ['bundle'], to: 'bundles (id)' }],
  }),

  /** Logical requests: their idempotency keys, who works on them, and their answers. */
  requests: table({
    key: ['id'],
    columns: {
      id: text(),
      /** The project: an idempotency key is the project's, whichever of its API keys brings it. */
      tokenId: text(),
      /** The API key that brought it first. */
      keyId: text(),
      operation: oneOf<KeyedOperationId>('burn', 'burnBatch', 'initBatch', 'executeBatch'),
      /** The idempotency key; a random one when the caller gave none. */
      value: text(),
      fingerprint: text<Sha256>(),
      status: oneOf('running', 'done'),
      /** Who works on it, and until when that is believed; a name of its own for each time that it is taken. */
      holder: optional(text()),
      leaseUntilMs: integer(),
      /** JSON text of the successful answer; `null` while running. */
      reply: optional(text()),
      batchId: optional(text()),
      /** How many days had been noted when it was made. */
      dayCount: integer(),
      dateCreated: text(),
    },
    unique: [['tokenId', 'operation', 'value']],
    references: [
      { columns: ['keyId', 'tokenId'], to: 'api_keys (id, token_id)' },
      { columns: ['batchId'], to: 'batches (id)', isDeferred: true },
    ],
    checks: ["(status = 'done') = (reply is not null)"],
    indexes: [
      // For whoever looks at the database: what is held, and by whom.
      { name: 'requests_running', on: 'date_created, id', where: "status = 'running'" },
      // Serves the reference: the request may be linked before its batch is inserted.
      { name: 'requests_of_batch', on: 'batch_id', where: 'batch_id is not null' },
      { name: 'requests_done', on: 'day_count', where: "status = 'done'" },
    ],
    rowsPerPage: 32,
  }),

  /** Days on which the store was in use. */
  notedDays: table({
    key: ['day'],
    columns: { day: text<UtcDay>(), dayCount: integer() },
    unique: [['dayCount']],
  }),

  /** Burns: each with its own signature and its own outcome. */
  burns: table({
    key: ['sequence'],
    columns: {
      /** Given by the store, rising; makes otherwise equal transactions differ. */
      sequence: integer(),
      /** May be forgotten before the burn. */
      requestId: text(),
      /** Position in its request, from 0. */
      index: integer('>= 0'),
      tokenId: text(),
      keyId: text(),
      proofType: text(),
      proofHash: text<Sha256>(),
      /** Base units. */
      amount: u64(),
      persistOnchain: boolean(),
      /** Day for which it was accepted; until it is final it counts on that day and on each later one up to that of its block. */
      day: text<UtcDay>(),
      /** `CONFIRMED` has landed where a fork may still take it back; `FINAL` and `FAILED` are ends. */
      status: oneOf('PENDING', 'CONFIRMED', 'FINAL', 'FAILED'),
      /** Base58; of the transaction signed last. */
      signature: text(),
      /** What is sent; `null` from its end on, when nothing is sent again. */
      transaction: optional(bytes()),
      lastValidBlockHeight: u64(),
      errorCode: optional(text()),
      errorMessage: optional(text()),
      dateCreated: text(),
      /** When the burn landed or failed. */
      dateSettled: optional(text()),
      /** What its transaction has cost; `null` where none has landed. */
      feeLamports: optional(u64()),
    },
    unique: [['signature'], ['requestId', 'index']],
    references: [
      { columns: ['tokenId'], to: 'tokens (id)' },
      { columns: ['keyId', 'tokenId'], to: 'api_keys (id, token_id)' },
    ],
    checks: [
      "amount > '00000000000000000000'",
      "(status = 'PENDING') = (date_settled is null)",
      "(status = 'FAILED') = (error_code is not null)",
      // What may be sent again has its bytes.
      `("transaction" is not null) = (${OPEN_BURN})`,
    ],
    indexes: [
      // What has not come to its end: read at every reservation, and nearly always next to nothing.
      { name: 'burns_open', on: 'token_id, day', where: OPEN_BURN },
      { name: 'burns_of_token', on: 'token_id, sequence' },
      { name: 'burns_landed', on: 'token_id, date_settled', where: LANDED_BURN },
      // A part of the hash is enough to find a few, and takes a third of the room.
      { name: 'burns_of_proof', on: 'substr(proof_hash, 1, 16)' },
    ],
  }),

  /** What has landed, for the daily caps. */
  dailyUsage: table({
    key: ['tokenId', 'day', 'kind'],
    columns: { tokenId: text(), day: text<UtcDay>(), kind: oneOf('burn', 'airdrop'), landed: u64() },
    references: [{ columns: ['tokenId'], to: 'tokens (id)' }],
  }),

  /** Who administered what. No entry is ever changed or removed, which only a trigger can state. */
  auditLog: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      /** `null` for what concerns the whole store. */
      tokenId: optional(text()),
      /** Who did it: a user of a machine, or a key. */
      actor: text(),
      action: oneOf(...AUDIT_ACTIONS),
      /** Id of what it was done to. */
      subject: optional(text()),
      /** What there is to know of it; never a secret. */
      detail: json<Readonly<Record<string, unknown>>>(),
      dateCreated: text(),
    },
    references: [{ columns: ['tokenId'], to: 'tokens (id)' }],
    indexes: [{ name: 'audit_log_of_token', on: 'token_id, ordinal' }],
    isImmutable: true,
  }),

  /** What the chain knows of a project and the store does not, because an older copy of it was restored. */
  gaps: table({
    key: ['id'],
    columns: {
      id: text(),
      tokenId: text(),
      status: oneOf('OPEN', 'ACCEPTED'),
      /** Transactions that burned something. */
      burns: integer('>= 0'),
      /** Base units. */
      burned: u64(),
      airdropped: u64(),
      transactions: integer('>= burns'),
      dateFound: text(),
      dateAccepted: optional(text()),
    },
    references: [{ columns: ['tokenId'], to: 'tokens (id)' }],
    checks: ["(status = 'ACCEPTED') = (date_accepted is not null)"],
    indexes: [
      // Of each project no more than one gap is open.
      { name: 'gaps_open', on: 'token_id', where: "status = 'OPEN'", isUnique: true },
    ],
  }),

  gapTransactions: table({
    key: ['gapId', 'position'],
    columns: {
      gapId: text(),
      /** In the order in which they landed. */
      position: integer('>= 0'),
      signature: text(),
      /** Base units. */
      burned: u64(),
      airdropped: u64(),
      /** The memos that it names itself. */
      memo: optional(text()),
      /** ISO text; `null` where no node says. */
      dateLanded: optional(text()),
    },
    unique: [['signature']],
    references: [{ columns: ['gapId'], to: 'gaps (id)' }],
  }),

  /** Up to which transaction of an account all was looked at: what others send to it is not looked at twice. */
  chainMarks: table({
    key: ['account'],
    columns: { account: text(), tokenId: text(), signature: text() },
    references: [{ columns: ['tokenId'], to: 'tokens (id)' }],
  }),

  /** One row: how far the store has come, and what it knows of its ledger. */
  progress: table({
    key: ['id'],
    columns: {
      id: text(),
      /** Hash of the ledger's first block, base58; `null` before they are bound to each other. */
      genesis: optional(text()),
      /** Names the newest block of the ledger that was known at some write, greater for later ones; `''` where there is none. */
      ledgerMark: text(),
      /** On which line of history the store was written last. */
      lineage: text(),
      /** Height of the block with which all has expired that was sent on the line before; `null` once it has. */
      heldUntil: optional(u64()),
    },
    checks: ["id = 'store'", "held_until is null or lineage <> ''"],
  }),
} as const;

export type TableName = keyof typeof TABLES;
export const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];
export const describe = (name: TableName): AnyTable => TABLES[name] as unknown as AnyTable;

type ValueOf<Of> = Of extends Column<infer Value> ? Value : never;

export type Tables = {
  readonly [Name in TableName]: {
    readonly [Key in keyof (typeof TABLES)[Name]['columns']]: ValueOf<(typeof TABLES)[Name]['columns'][Key]>;
  };
};

export type Row<Name extends TableName> = Readonly<Selectable<Tables[Name]>>;

type Optional<Record> = { [Key in keyof Record]: null extends Record[Key] ? Key : never }[keyof Record];

/** A row to be inserted: what may be `null` is where it is left out. */
export type NewRow<Name extends TableName> = Omit<Row<Name>, 'ordinal' | Optional<Row<Name>>> &
  Partial<Pick<Row<Name>, Optional<Row<Name>>>>;

/** What is given of a row, with `null` for what may be left out: who makes one need not know of each column. */
export function whole<Name extends TableName, const Given extends Partial<Row<Name>>>(
  name: Name,
  given: Given,
): Omit<Given, Optional<Row<Name>>> & Pick<Row<Name>, Optional<Row<Name>>> {
  const columns = Object.entries<Column>(TABLES[name].columns);
  const nulls = columns.flatMap(([column, { isOptional }]) => (isOptional === true ? [[column, null]] : []));
  return { ...Object.fromEntries(nulls), ...given };
}
