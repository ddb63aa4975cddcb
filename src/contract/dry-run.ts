/** What a request would come to, found out without doing any of it; only an engine on the user's machine is asked. */
import type { Secret } from '../values/secret.js';
import type { InitBatchRequest } from './schemas/batch.js';
import type { BurnRequest } from './schemas/burn.js';

/** Something that a request would change; whole tokens or SOL as decimal text. */
export interface Change {
  readonly before: string;
  readonly after: string;
}

/** An element that would not be burned. */
export interface ForeseenFailure {
  readonly index: number;
  /** Code of the error. */
  readonly type: string;
  readonly message: string;
}

/** What burns would come to, done now and by nobody else beside. */
export interface BurnsForesight {
  readonly failures: readonly ForeseenFailure[];
  readonly burnWallet: Change;
  readonly supply: Change;
  readonly usedToday: Change;
}

/** What a batch would come to when it is executed on this day. */
export interface BatchForesight {
  readonly vault: Change;
  readonly supply: Change;
  readonly usedToday: { readonly burn: Change; readonly airdrop: Change };
  readonly costs: BatchCosts;
}

/** What a batch would cost, in lamports. */
interface BatchCosts {
  /** Fees of operator and owner, at most. */
  readonly feeLamports: string;
  /** Rent that the operator lays out until the batch is closed. */
  readonly rentPaidLamports: string;
  /** Rent that the vault pays for token accounts of recipients; it does not come back. */
  readonly vaultRentLamports: string;
}

/** Looks, and changes nothing. */
export interface Foresight {
  /** @throws `ERR_UNAUTHORIZED`, `ERR_KEY_SCOPES_UNAUTHORIZED` */
  burns(requests: readonly BurnRequest[], credential: Secret | null): Promise<BurnsForesight>;
  /** @throws with every reason why the batch would be refused, as init does. */
  batch(request: InitBatchRequest, credential: Secret | null): Promise<BatchForesight>;
}
