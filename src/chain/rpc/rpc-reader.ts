/** The reading part of the chain over a cluster's JSON-RPC, at the commitment `confirmed`; nothing is submitted or retried here. */
import type {
  AccountInfo,
  ConfirmedSignatureInfo,
  Connection,
  SignatureStatus,
  VersionedTransactionResponse,
} from '@solana/web3.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { base58Decode } from '../../values/base58.js';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../account.js';
import type { ChainReader, History, PastTransaction, Signature, TransactionRecord } from '../chain.js';
import { encodeTransaction } from '../transaction/wire.js';
import { readTransactionError } from './transaction-error.js';

/** What {@link createRpcReader} needs. */
export interface RpcReaderOptions {
  /** `http:` or `https:`; may hold a key, so it is never shown whole. */
  readonly url: string;
  /** For one request. */
  readonly timeoutMs: number;
  /** Ends every wait when it is aborted. */
  readonly signal?: AbortSignal;
  /** How requests are sent. @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
}

const COMMITMENT = 'confirmed';
/** Most accounts that a node returns at once (agave, `MAX_MULTIPLE_ACCOUNTS`). */
const MAX_ACCOUNTS_PER_CALL = 100;
/** Most signatures that a node looks up at once (agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
const MAX_SIGNATURES_PER_CALL = 256;
const NEWEST_VERSION = 0;
/** Rent epochs are u64 but arrive as JSON numbers; one this large can only mean exempt. */
const EXEMPT_FROM = 2 ** 63;
const MS_PER_SECOND = 1_000;

const chunks = <Value>(values: readonly Value[], size: number): readonly (readonly Value[])[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size));

function hostOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') {
    throw new FlywheelError('ERR_CONFIG_INVALID', 'The address of the RPC node is not an http or https URL.');
  }
  return parsed.host;
}

const accountState = (info: AccountInfo<Buffer> | null): AccountState | null =>
  info && {
    lamports: BigInt(info.lamports),
    owner: info.owner.toBase58() as Address,
    data: info.data,
    executable: info.executable,
    rentEpoch:
      info.rentEpoch !== undefined && info.rentEpoch < EXEMPT_FROM
        ? BigInt(info.rentEpoch)
        : RENT_EPOCH_EXEMPT,
  };

/** A processed transaction may still be dropped with its fork, so it has not landed. */
const hasLanded = (status: SignatureStatus | null): status is SignatureStatus =>
  status !== null && (status.confirmationStatus === 'confirmed' || status.confirmationStatus === 'finalized');

/** Outcome from the status; details from the transaction, which a node may no longer have. */
const record = (
  signature: Signature,
  status: SignatureStatus,
  transaction: VersionedTransactionResponse | null,
): TransactionRecord => ({
  signature,
  slot: BigInt(status.slot),
  blockTimeMs: (transaction?.blockTime ?? 0) * MS_PER_SECOND,
  error: readTransactionError(status.err),
  logs: transaction?.meta?.logMessages ?? [],
  feeLamports: BigInt(transaction?.meta?.fee ?? 0),
  computeUnits: BigInt(transaction?.meta?.computeUnitsConsumed ?? 0),
});

function wireBytes({ transaction }: VersionedTransactionResponse): Uint8Array {
  const signatures = transaction.signatures.map((text) => base58Decode(text) ?? new Uint8Array());
  return encodeTransaction(signatures, transaction.message.serialize());
}

/** Signatures that a node returns at once (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`), and how often we ask. */
const SIGNATURES_PER_PAGE = 1_000;
const MAX_PAGES = 20;

const timeMs = ({ blockTime }: ConfirmedSignatureInfo): number | null =>
  blockTime == null ? null : blockTime * MS_PER_SECOND;

class RpcReader implements ChainReader, History {
  readonly #options: RpcReaderOptions;
  readonly #host: string;
  #connection: Promise<Connection> | undefined;

  constructor(options: RpcReaderOptions) {
    this.#options = options;
    this.#host = hostOf(options.url);
  }

  /** Accounts in calls of 100; each later call is answered from a state no older than the one before. */
  async getAccounts(addresses: readonly Address[]): Promise<readonly (AccountState | null)[]> {
    const { PublicKey } = await import('@solana/web3.js');
    const states: (AccountState | null)[] = [];
    let minContextSlot: number | undefined;
    for (const chunk of chunks(addresses, MAX_ACCOUNTS_PER_CALL)) {
      const keys = chunk.map((address) => new PublicKey(address));
      const { value, context } = await this.#call((connection) =>
        connection.getMultipleAccountsInfoAndContext(keys, {
          commitment: COMMITMENT,
          ...(minContextSlot === undefined ? {} : { minContextSlot }),
        }),
      );
      minContextSlot = context.slot;
      states.push(...value.map(accountState));
    }
    return states;
  }

  async latestBlockhash() {
    const { blockhash, lastValidBlockHeight } = await this.#call((connection) =>
      connection.getLatestBlockhash(COMMITMENT),
    );
    return { blockhash, lastValidBlockHeight: BigInt(lastValidBlockHeight) };
  }

  async blockHeight(): Promise<bigint> {
    return BigInt(await this.#call((connection) => connection.getBlockHeight(COMMITMENT)));
  }

  async isBlockhashValid(blockhash: string): Promise<boolean> {
    const { value } = await this.#call((connection) =>
      connection.isBlockhashValid(blockhash, { commitment: COMMITMENT }),
    );
    return value;
  }

  async lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]> {
    const records: (TransactionRecord | null)[] = [];
    for (const chunk of chunks(signatures, MAX_SIGNATURES_PER_CALL)) {
      const { value } = await this.#call((connection) =>
        connection.getSignatureStatuses([...chunk], { searchTransactionHistory: true }),
      );
      for (const [index, signature] of chunk.entries()) {
        const status = value[index] ?? null;
        records.push(
          hasLanded(status) ? record(signature, status, await this.#transaction(signature)) : null,
        );
      }
    }
    return records;
  }

  async getTransaction(signature: Signature): Promise<Uint8Array | null> {
    const transaction = await this.#transaction(signature);
    return transaction === null ? null : wireBytes(transaction);
  }

  async pastOf(account: Address, sinceMs: number): Promise<readonly PastTransaction[]> {
    const { PublicKey } = await import('@solana/web3.js');
    const key = new PublicKey(account);
    const past: PastTransaction[] = [];
    let before: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const options = { limit: SIGNATURES_PER_PAGE, ...(before === undefined ? {} : { before }) };
      const found = await this.#call((connection) =>
        connection.getSignaturesForAddress(key, options, COMMITMENT),
      );
      const inTime = found.filter((info) => (timeMs(info) ?? sinceMs) >= sinceMs);
      for (const info of inTime) {
        const { err, memo } = info;
        if (err === null)
          past.push({ signature: info.signature as Signature, memo, blockTimeMs: timeMs(info) });
      }
      before = found.at(-1)?.signature;
      if (found.length < SIGNATURES_PER_PAGE || inTime.length < found.length) break;
    }
    return past;
  }

  #transaction(signature: Signature): Promise<VersionedTransactionResponse | null> {
    return this.#call((connection) =>
      connection.getTransaction(signature, {
        commitment: COMMITMENT,
        maxSupportedTransactionVersion: NEWEST_VERSION,
      }),
    );
  }

  /** Runs one request; whatever goes wrong with it means that the chain is out of reach. */
  async #call<Value>(request: (connection: Connection) => Promise<Value>): Promise<Value> {
    try {
      this.#connection ??= this.#connect();
      return await request(await this.#connection);
    } catch (error) {
      if (isFlywheelError(error)) throw error;
      if (this.#options.signal?.aborted === true)
        throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted while the chain was read.', { cause: error });
      const timeout = error instanceof Error && error.name === 'TimeoutError';
      const reason = timeout ? `did not answer within ${this.#options.timeoutMs} ms` : 'could not be asked';
      throw new FlywheelError('ERR_UNAVAILABLE', `The RPC node ${this.#host} ${reason}.`, { cause: error });
    }
  }

  async #connect(): Promise<Connection> {
    const { Connection: RpcConnection } = await import('@solana/web3.js');
    const { url, timeoutMs, signal, fetch: send = globalThis.fetch } = this.#options;
    const ends = (): AbortSignal =>
      AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
    return new RpcConnection(url, {
      commitment: COMMITMENT,
      disableRetryOnRateLimit: true,
      httpAgent: false,
      fetch: (input, init) => send(input, { ...init, signal: ends() }),
    });
  }
}

/**
 * Reads a cluster through one node; web3.js is loaded with the first request.
 * @throws `ERR_CONFIG_INVALID` for an address that is no http or https URL; every method `ERR_UNAVAILABLE` when the node
 * does not answer or answers with an error.
 */
export const createRpcReader = (options: RpcReaderOptions): ChainReader & History => new RpcReader(options);
