/**
 * Describes every table once. Row types, the schema of both databases and the cell mapping derive from it: a new column is one line.
 * A column name has one meaning in all tables. Names in the database are snake case.
 */
import type { Selectable } from 'kysely';
import { ACTION_NAMES, type SourceAction } from '../actions/registry.js';
import type { RegisterInput } from '../contract/admin.js';
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
  reference,
  type TableDescription,
  text,
  u64,
} from './columns.js';

const AUDIT_ACTIONS = ['register', 'keys.create', 'keys.revoke', 'caps.set', 'gap.accept', 'copy'] as const;

/** Conditions of partial indexes. A statement must repeat the text for the index to serve it. */
export const OPEN_BURN = "status in ('PENDING', 'CONFIRMED')";
export const LANDED_BURN = "status in ('CONFIRMED', 'FINAL')";

const table = <Columns extends Readonly<Record<string, Column>>>(
  description: TableDescription<Columns>,
): TableDescription<Columns> => description;

/** Ordered so that each table comes after the tables that it references. */
export const TABLES = {
  projects: table({
    key: ['id'],
    columns: {
      /** `tokenId` everywhere else. */
      id: text(),
      flywheelId: text(),
      /** Unique in a database; `null` in a data directory. */
      name: optional(text()),
      tokenName: text(),
      symbol: text(),
      mintAddress: text<Address>(),
      decimals: integer('between 0 and 255'),
      tokenProgram: oneOf<RegisterInput['tokenProgram']>('token', 'token-2022'),
      generation: oneOf<RegisterInput['tokenGeneration']>('v1', 'v2'),
      /** Base units ever minted. */
      supply: u64(),
      /** Source of single burns; pays their fees. */
      burnWallet: text<Address>(),
      burnTokenAccount: text<Address>(),
      multisig: text<Address>(),
      vaultIndex: integer('between 0 and 255'),
      vault: text<Address>(),
      vaultTokenAccount: text<Address>(),
      owner: text<Address>(),
      /** Creates, approves and executes batches; pays fees and rent. */
      operator: text<Address>(),
      proofTypes: json<readonly string[]>(),
      /** Base units for each UTC day; `null` for no cap. */
      dailyBurnCap: optional(u64()),
      dailyAirdropCap: optional(u64()),
      /** When a cap was last lowered. Amounts accepted before keep their room. */
      dateCapsLowered: optional(text()),
      /** The project's members and token rights, as confirmed when it was registered on a cluster. */
      facts: optional(json<Readonly<Record<string, string>>>()),
      /** Lamports that the operator must keep; `null`: the default. */
      minOperatorSol: optional(u64()),
      /** Lamports of rent that open batches may use together; `null`: the default. */
      maxBatchRent: optional(u64()),
      dateCreated: text(),
    },
    unique: [['flywheelId'], ['mintAddress'], ['multisig', 'vaultIndex']],
    indexes: [{ name: 'projects_name', on: 'name', where: 'name is not null', isUnique: true }],
  }),

  apiKeys: table({
    key: ['id'],
    columns: {
      id: text(),
      tokenId: reference('projects'),
      /** SHA-256 of the key. The key itself is never stored. */
      hash: text<Sha256>(),
      name: optional(text()),
      scopes: json<readonly Scope[]>(),
      /** `null`: every proof type of the project. */
      proofTypes: optional(json<readonly string[]>()),
      dateCreated: text(),
      dateRevoked: optional(text()),
      /** The key is valid before this time, not at it; `null`: no expiry. */
      dateExpires: optional(text()),
    },
    unique: [['hash'], ['id', 'tokenId']],
    indexes: [{ name: 'api_keys_of_token', on: 'token_id' }],
  }),

  batches: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      id: text(),
      tokenId: reference('projects'),
      keyId: reference('apiKeys'),
      /** The init request; it may have been deleted. */
      requestId: text(),
      status: oneOf<BatchStatus>('AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED'),
      /** Index within the multisig. Another batch may take it until the set-up has created this batch on chain. */
      batchIndex: u64(),
      /** What may still land and counts against the caps, in base units, and the days on which it counts; `null`: nothing. */
      burnLeft: optional(u64()),
      airdropLeft: optional(u64()),
      heldFrom: optional(text<UtcDay>()),
      /** `null`: every day from `heldFrom` on. */
      heldTo: optional(text<UtcDay>()),
      initResult: optional(json<InitResult>()),
      executeResult: optional(json<ExecuteResult>()),
      /** Totals of all pipelines; amounts in base units. */
      pipelineCount: integer('>= 0'),
      burn: u64(),
      airdrop: u64(),
      /** Number of distinct airdrop recipients. */
      recipients: integer('>= 0'),
      /** Rent that the batch's accounts are expected to occupy on chain until it is closed. */
      setupRentLamports: u64(),
      /** The lease's holder and expiry. Each acquisition uses a new holder name, which fences off earlier holders. */
      holder: optional(text()),
      leaseUntilMs: integer(),
      dateCreated: text(),
      dateUpdated: text(),
      dateCancelled: optional(text()),
      /** When all its accounts on chain were closed, or `null`. */
      dateClosed: optional(text()),
    },
    unique: [['id'], ['id', 'tokenId']],
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
      { name: 'batches_of_request', on: 'request_id' },
      { name: 'batches_of_token', on: 'token_id, ordinal' },
      { name: 'batches_not_closed', on: 'token_id', where: 'date_closed is null' },
      { name: 'batches_held', on: 'token_id', where: 'held_from is not null' },
    ],
  }),

  pipelines: table({
    key: ['batchId', 'position'],
    columns: {
      batchId: reference('batches'),
      position: integer('>= 0'),
      tokenId: text(),
      /** Proof type. */
      type: text(),
      payload: text(),
      proofHash: text<Sha256>(),
      /** As requested, in whole tokens. */
      actions: json<readonly SourceAction[]>(),
      /** The vault message in argument form (squads-v4.md, section 3), base64. */
      message: text(),
      /** Base units, summed over its actions. */
      burn: u64(),
      airdrop: u64(),
      /** The transaction that executed it; also `null` if members executed it and the chain does not tell which transaction it was. */
      signature: optional(text()),
      /** Execution time as far as known; `null` while not executed. */
      dateLanded: optional(text()),
    },
    checks: ['signature is null or date_landed is not null'],
    indexes: [
      { name: 'pipelines_of_type', on: 'batch_id, type' },
      { name: 'pipelines_of_proof', on: 'substr(proof_hash, 1, 16)' },
      { name: 'pipelines_signature', on: 'signature', where: 'signature is not null' },
      { name: 'pipelines_landed', on: 'token_id, date_landed', where: 'date_landed is not null' },
    ],
    rowsPerPage: 50,
  }),

  pipelineActions: table({
    key: ['batchId', 'position', 'number'],
    columns: {
      batchId: reference('pipelines'),
      position: integer('>= 0'),
      number: integer('>= 0'),
      kind: oneOf(...ACTION_NAMES),
      amount: optional(u64()),
      recipient: optional(text<Address>()),
    },
    indexes: [
      { name: 'pipeline_actions_of_kind', on: 'batch_id, kind' },
      { name: 'pipeline_actions_to', on: 'recipient, batch_id', where: 'recipient is not null' },
    ],
  }),

  /** Votes issued for the owner to sign. The operator pays and has already signed. */
  issuedVotes: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      batchId: reference('batches'),
      kind: oneOf('approve', 'reject', 'cancel'),
      /** Wire bytes without the owner's signature. */
      transaction: bytes(),
      /** The operator's signature, base58; it identifies the transaction on chain. */
      signature: text(),
      lastValidBlockHeight: u64(),
      /** It can no longer land; if it landed, its costs are stored. */
      isOver: boolean(),
      dateCreated: text(),
    },
    unique: [['signature']],
    indexes: [
      { name: 'issued_votes_of_batch', on: 'batch_id, ordinal' },
      { name: 'issued_votes_open', on: 'ordinal', where: 'is_over = 0' },
    ],
  }),

  /** Lamports that each transaction of a batch moved, whether it landed or failed on chain. */
  batchCosts: table({
    key: ['signature'],
    columns: {
      signature: text(),
      /** The first batch, if members executed several with one transaction. */
      batchId: reference('batches'),
      /** Lamports before minus lamports after; negative if the account gained. */
      operatorLamports: integer(),
      vaultLamports: integer(),
    },
    indexes: [{ name: 'batch_costs_of_batch', on: 'batch_id' }],
  }),

  /** Signed steps of batches, one row for each transaction; those of one bundle land together, or none does. */
  batchTransactions: table({
    key: ['signature'],
    columns: {
      signature: text(),
      batchId: reference('batches'),
      phase: oneOf('SETUP', 'OWNER_APPROVAL', 'OPERATOR_APPROVAL', 'EXECUTE', 'CANCEL', 'CLOSE'),
      /** Index of its bundle's first transaction within the phase, from 0. */
      first: integer('>= 0'),
      /** Index within the bundle, from 0. */
      position: integer('>= 0'),
      /** SHA-256 of the comma-joined signatures of its bundle. */
      bundleId: text<Sha256>(),
      bytes: bytes(),
      lastValidBlockHeight: u64(),
      status: oneOf('PENDING', 'LANDED', 'FAILED', 'EXPIRED'),
      /** Of the transaction for which its bundle failed. */
      errorMessage: optional(text()),
    },
    indexes: [
      { name: 'batch_transactions_of_batch', on: 'batch_id' },
      // At most one bundle of a step is pending or landed: no step runs twice.
      {
        name: 'batch_transactions_live',
        on: 'batch_id, phase, first, position',
        where: "status in ('PENDING', 'LANDED')",
        isUnique: true,
      },
    ],
  }),

  requests: table({
    key: ['id'],
    columns: {
      id: text(),
      /** An idempotency key belongs to the project, whichever of its API keys sends it. */
      tokenId: text(),
      /** The API key that sent it first. */
      keyId: reference('apiKeys'),
      operation: oneOf<KeyedOperationId>('burn', 'burnBatch', 'initBatch', 'executeBatch'),
      /** The idempotency key; random if the caller sent none. */
      value: text(),
      fingerprint: text<Sha256>(),
      status: oneOf('running', 'done'),
      /** The lease's holder and expiry. Each acquisition uses a new holder name, which fences off earlier holders. */
      holder: optional(text()),
      leaseUntilMs: integer(),
      /** JSON text of the successful answer; `null` while running. */
      reply: optional(text()),
      /** Number of noted days at its creation. */
      dayCount: integer(),
      /** Ordinal of the newest gap transaction at its creation. */
      lastGap: integer(),
      dateCreated: text(),
    },
    unique: [['tokenId', 'operation', 'value']],
    checks: ["(status = 'done') = (reply is not null)"],
    indexes: [
      { name: 'requests_running', on: 'date_created, id', where: "status = 'running'" },
      { name: 'requests_done', on: 'day_count', where: "status = 'done'" },
    ],
    rowsPerPage: 32,
  }),

  notedDays: table({
    key: ['day'],
    columns: { day: text<UtcDay>(), dayCount: integer() },
    unique: [['dayCount']],
  }),

  /** Each burn has its own signature and its own outcome. */
  burns: table({
    key: ['sequence'],
    columns: {
      /** Assigned by the store, rising; makes otherwise equal transactions differ. */
      sequence: integer(),
      /** The request may be deleted before the burn. */
      requestId: text(),
      index: integer('>= 0'),
      tokenId: reference('projects'),
      keyId: reference('apiKeys'),
      proofType: text(),
      proofHash: text<Sha256>(),
      /** Base units. */
      amount: u64(),
      persistOnchain: boolean(),
      /** Day of acceptance. Until final, the burn counts on this day and each later one up to the day of its block. */
      day: text<UtcDay>(),
      /** A fork may still roll `CONFIRMED` back; `FINAL` and `FAILED` are final outcomes. */
      status: oneOf('PENDING', 'CONFIRMED', 'FINAL', 'FAILED'),
      /** Of the last signed transaction, base58. */
      signature: text(),
      /** The bytes to send; `null` once the outcome is final, so nothing is sent again. */
      transaction: optional(bytes()),
      lastValidBlockHeight: u64(),
      errorCode: optional(text()),
      errorMessage: optional(text()),
      dateCreated: text(),
      dateSettled: optional(text()),
      /** Fee of its transaction; `null` if none landed. */
      feeLamports: optional(u64()),
    },
    unique: [['signature'], ['requestId', 'index']],
    checks: [
      "amount > '00000000000000000000'",
      "(status = 'PENDING') = (date_settled is null)",
      "(status = 'FAILED') = (error_code is not null)",
      // A burn that may be sent again has its bytes.
      `("transaction" is not null) = (${OPEN_BURN})`,
    ],
    indexes: [
      // Read at every reservation, and nearly always almost empty.
      { name: 'burns_open', on: 'token_id, day', where: OPEN_BURN },
      { name: 'burns_of_token', on: 'token_id, sequence' },
      { name: 'burns_landed', on: 'token_id, date_settled', where: LANDED_BURN },
      // 16 characters of the hash are selective enough and take a third of the space.
      { name: 'burns_of_proof', on: 'substr(proof_hash, 1, 16)' },
    ],
  }),

  dailyUsage: table({
    key: ['tokenId', 'day', 'kind'],
    columns: {
      tokenId: reference('projects'),
      day: text<UtcDay>(),
      kind: oneOf('burn', 'airdrop'),
      landed: u64(),
    },
  }),

  /** Administrative actions. A trigger forbids updates and deletes. */
  auditLog: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      /** `null` for an action on the whole store. */
      tokenId: optional(reference('projects')),
      actor: text(),
      action: oneOf(...AUDIT_ACTIONS),
      subject: optional(text()),
      /** Details of the action; never a secret. */
      detail: json<Readonly<Record<string, unknown>>>(),
      dateCreated: text(),
    },
    indexes: [{ name: 'audit_log_of_token', on: 'token_id, ordinal' }],
    isImmutable: true,
  }),

  /**
   * Transactions of a project that are on chain and missing from the store, because an older copy was restored, in the order in
   * which they landed. Those that are not accepted are the open gap of the project.
   */
  gapTransactions: table({
    key: ['ordinal'],
    columns: {
      ordinal: ordinal(),
      tokenId: reference('projects'),
      signature: text(),
      /** Base units. */
      burned: u64(),
      airdropped: u64(),
      memo: optional(text()),
      /** ISO time; `null` if no node knows it. */
      dateLanded: optional(text()),
      dateFound: text(),
      dateAccepted: optional(text()),
    },
    unique: [['signature']],
    indexes: [{ name: 'gap_transactions_open', on: 'token_id, ordinal', where: 'date_accepted is null' }],
  }),

  /** The newest checked transaction of each account: its history is not read twice. */
  chainMarks: table({
    key: ['account'],
    columns: { account: text(), tokenId: reference('projects'), signature: text() },
  }),

  /** One row: the store's position on its ledger. */
  progress: table({
    key: ['id'],
    columns: {
      id: text(),
      /** Hash of the ledger's first block, base58; `null` until the store is bound to a ledger. */
      genesis: optional(text()),
      /** The newest ledger block known at the last write. The text rises with the block; `''` if none. */
      ledgerMark: text(),
      /** Line of history of the last write. */
      lineage: text(),
      /** Block height at which everything sent on the previous lineage has expired; `null` once passed. */
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

/** A row to insert: columns that may be `null` are optional. */
export type NewRow<Name extends TableName> = Omit<Row<Name>, 'ordinal' | Optional<Row<Name>>> &
  Partial<Pick<Row<Name>, Optional<Row<Name>>>>;

/** Completes a partial row with `null` for optional columns, so that callers need not know every column. */
export function whole<Name extends TableName, const Given extends Partial<Row<Name>>>(
  name: Name,
  given: Given,
): Omit<Given, Optional<Row<Name>>> & Pick<Row<Name>, Optional<Row<Name>>> {
  const columns = Object.entries<Column>(TABLES[name].columns);
  const nulls = columns.flatMap(([column, { isOptional }]) => (isOptional === true ? [[column, null]] : []));
  return { ...Object.fromEntries(nulls), ...given };
}
