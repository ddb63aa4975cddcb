/** Numbers and words of the contract for who reads no shapes, each number with its unit. */
import type { MovingActionName } from '../actions/registry.js';

/** Largest request body in bytes, unless configured (contract, section 1.3). */
export const MAX_BODY_BYTES = 4 * 1_024 * 1_024;
/** JSON values in one request body, counted by its commas and opening brackets. */
export const MAX_JSON_VALUES = 80_000;
/** Objects among them: what an object takes in memory has little to do with what it takes on its way. */
export const MAX_JSON_OBJECTS = 40_000;
/** Keys of one object in a request body; a proof of the largest size has fewer. */
export const MAX_OBJECT_KEYS = 10_000;
export const MAX_PATH_PARAMETER_LENGTH = 200;
/** Largest proof in bytes of canonical JSON, unless configured (contract, section 1.6). */
export const MAX_PROOF_BYTES = 64 * 1_024;
/** Elements that one burn-batch may hold, unless configured (contract, section 1.6). */
export const MAX_BURN_BATCH_ELEMENTS = 1_000;
/** Pipelines that one batch may hold, unless configured (contract, section 1.6). */
export const MAX_PIPELINES = 1_000;
/** Items of one page at most, and unless another number is asked for (contract, section 1.7). */
export const MAX_PAGE_ITEMS = 200;
export const DEFAULT_PAGE_ITEMS = 50;
/** Days for which an idempotency record is kept at least (contract, section 1.4). */
export const IDEMPOTENCY_RETENTION_DAYS = 30;
/** What init leaves the operator with at least, in lamports, unless configured: 0.1 SOL pay for 20,000 signatures. */
export const MIN_OPERATOR_LAMPORTS = 100_000_000n;
/** Rent in lamports that batches which are not closed may take together, unless configured. */
export const MAX_OPEN_RENT_LAMPORTS = 5_000_000_000n;
/** Longest idempotency key in characters; visible ASCII only (contract, section 1.4). */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;
/** Time allowed for one request of the client (contract, section 2.5). */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Longest time for one operation of the client, all tries and waits together (contract, section 2.2). */
export const DEFAULT_WAIT_SECONDS = 600;
export const MAX_TRIES = 3;
/** Longest time to wait for a rate limit or an unavailable service (contract, section 2.5). */
export const DEFAULT_MAX_WAIT_SECONDS = 60;

const MOVING: Readonly<Record<MovingActionName, null>> = { BURN: null, AIRDROP: null };
export const MOVES = Object.keys(MOVING) as readonly MovingActionName[];
/** What the rows of a report are about; without a period they are about all the time that was asked for. */
export const REPORT_PERIODS = ['day', 'week', 'month', 'all'] as const;
export type ReportPeriod = (typeof REPORT_PERIODS)[number];

export const MAX_REPORT_ROWS = 5_000;
