/** Limits and constants of the contract, without the schemas, which are slow to load. */
import type { MovingActionName } from '../actions/registry.js';

/** Bytes; configurable (contract, section 1.3). */
export const MAX_BODY_BYTES = 4 * 1_024 * 1_024;
/** JSON values in one request body, counted by commas and opening brackets. */
export const MAX_JSON_VALUES = 80_000;
/** JSON objects in one body: the memory of an object has little relation to its size in bytes. */
export const MAX_JSON_OBJECTS = 40_000;
/** A proof of maximum size has fewer keys. */
export const MAX_OBJECT_KEYS = 10_000;
export const MAX_PATH_PARAMETER_LENGTH = 200;
/** Bytes of canonical JSON; configurable (contract, section 1.6). */
export const MAX_PROOF_BYTES = 64 * 1_024;
export const MAX_BURN_BATCH_ELEMENTS = 1_000;
export const MAX_PIPELINES = 1_000;
export const MAX_PAGE_ITEMS = 200;
export const DEFAULT_PAGE_ITEMS = 50;
/** Minimum time that an idempotency record is stored (contract, section 1.4). */
export const IDEMPOTENCY_RETENTION_DAYS = 30;
/** Lamports that init must leave to the operator, configurable: 0.1 SOL pay for 20,000 signatures. */
export const MIN_OPERATOR_LAMPORTS = 100_000_000n;
/** Lamports of rent that all batches with open accounts may take together; configurable. */
export const MAX_OPEN_RENT_LAMPORTS = 5_000_000_000n;
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;
/** Timeout of one client request (contract, section 2.5). */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Timeout of one client operation, with all retries and waits (contract, section 2.2). */
export const DEFAULT_WAIT_SECONDS = 600;
export const MAX_TRIES = 3;
/** Longest wait for a rate limit or an unavailable service (contract, section 2.5). */
export const DEFAULT_MAX_WAIT_SECONDS = 60;

const MOVING: Readonly<Record<MovingActionName, null>> = { BURN: null, AIRDROP: null };
export const MOVES = Object.keys(MOVING) as readonly MovingActionName[];
export const REPORT_PERIODS = ['day', 'week', 'month', 'all'] as const;
export type ReportPeriod = (typeof REPORT_PERIODS)[number];

export const MAX_REPORT_ROWS = 5_000;
