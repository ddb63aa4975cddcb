/**
 * THE table of errors: code → HTTP status, exit number, retry rule and default hint.
 *
 * Codes and statuses are those of the service specification, section 7, and of the contract, section 1.3;
 * codes with status `null` arise only at the command line. A code is never renamed or reused.
 */
import { EXIT, type ExitCode } from './exit-codes.js';

/** May the same request be sent again as it is? `with-key`: only if it carries an idempotency key. */
type RetryRule = 'never' | 'always' | 'with-key';

interface ErrorRule {
  /** HTTP status, or `null` for what never crosses the wire. */
  readonly status: number | null;
  readonly exit: ExitCode;
  readonly retry: RetryRule;
  /** When it is raised; printed in docs/errors.md and in OpenAPI. */
  readonly when: string;
  /** What to do next, unless the place that raises it knows better. */
  readonly hint?: string;
}

const rule = (
  status: number | null,
  exit: ExitCode,
  when: string,
  more: { retry?: RetryRule; hint?: string } = {},
): ErrorRule => ({ status, exit, when, retry: 'never', ...more });

export const ERRORS = {
  ERR_INVALID_REQUEST: rule(
    400,
    EXIT.usage,
    'the request is not JSON, not the right shape, or has a bad header value',
  ),
  ERR_TOKEN_NOT_FOUND: rule(
    400,
    EXIT.refused,
    'the token of the API key is unknown, or not of generation v1 for a burn operation',
  ),
  ERR_CREATE_API_EVENT_FAILED: rule(
    400,
    EXIT.refused,
    'the record of the burn attempt could not be written',
    {
      retry: 'with-key',
      hint: 'Nothing was burned; run the command again.',
    },
  ),
  ERR_INVALID_PROOF: rule(
    400,
    EXIT.refused,
    'the proof type is unknown or not permitted for the key, or the proof is invalid',
  ),
  ERR_BURN_TOKENOMICS_FAILED: rule(400, EXIT.refused, 'the burn failed on chain or could not be made'),
  ERR_FLYWHEEL_NOT_FOUND: rule(400, EXIT.refused, "the key's token has no registered flywheel"),
  ERR_ACTION_NOT_SUPPORTED: rule(400, EXIT.refused, 'the action is known but not available'),
  ERR_PIPELINE_TOO_LARGE: rule(400, EXIT.refused, 'a pipeline does not fit one transaction', {
    hint: 'Split the pipeline into several, or shorten its memos.',
  }),
  ERR_INSUFFICIENT_FUNDS: rule(
    400,
    EXIT.refused,
    'the vault, the burn wallet or the operator lacks tokens or SOL',
  ),
  ERR_DAILY_LIMIT_EXCEEDED: rule(400, EXIT.refused, 'the daily cap (UTC day) would be passed', {
    hint: 'Ask for less, or wait for the next UTC day.',
  }),
  ERR_INVALID_SIGNED_TX: rule(
    400,
    EXIT.refused,
    "the signed transaction is not this batch's approval, or is not signed by the owner",
    {
      hint: 'Sign the approval of this batch with `flywheel batch approve`.',
    },
  ),
  ERR_APPROVAL_EXPIRED: rule(
    400,
    EXIT.refused,
    'the blockhash of the signed approval is too old and it has not landed',
    {
      hint: 'Approve again: `flywheel batch approve` builds the approval with a fresh blockhash.',
    },
  ),
  ERR_UNAUTHORIZED: rule(401, EXIT.auth, 'the API key is missing, unknown or revoked', {
    hint: 'Set FLYWHEEL_API_KEY, or store the key with `flywheel profile add --api-key-stdin`.',
  }),
  ERR_KEY_SCOPES_UNAUTHORIZED: rule(403, EXIT.auth, 'the API key lacks the scope', {
    hint: 'Use a key that has the scope: `flywheel keys create --scope …`.',
  }),
  ERR_BATCH_NOT_FOUND: rule(404, EXIT.refused, "no batch has this id for the key's token"),
  ERR_NOT_FOUND: rule(404, EXIT.refused, 'unknown route'),
  ERR_METHOD_NOT_ALLOWED: rule(405, EXIT.refused, 'the route exists with another method'),
  ERR_DUPLICATE_IDEMPOTENCY_KEY: rule(
    409,
    EXIT.unavailable,
    'a request with the same idempotency key is still running',
    {
      retry: 'with-key',
    },
  ),
  ERR_BATCH_NOT_FINALIZED: rule(409, EXIT.refused, 'execute was called before the batch was finalized', {
    hint: 'Run `batch init` again with the same idempotency key to finish the set-up.',
  }),
  ERR_BATCH_IN_PROGRESS: rule(409, EXIT.unavailable, 'another execute of the batch is running', {
    retry: 'always',
  }),
  ERR_PAYLOAD_TOO_LARGE: rule(413, EXIT.usage, 'the body is over the limit (10 MiB unless configured)'),
  ERR_UNSUPPORTED_MEDIA_TYPE: rule(415, EXIT.refused, 'the body is not application/json'),
  ERR_IDEMPOTENCY_KEY_REUSED: rule(422, EXIT.refused, 'the idempotency key was used with another body', {
    hint: 'Use a new key for a new request, or send exactly the first body.',
  }),
  ERR_RATE_LIMIT_EXCEEDED: rule(429, EXIT.unavailable, 'over the rate limit of the key and operation', {
    retry: 'always',
  }),
  ERR_BATCH_CURRENT_FAILED: rule(500, EXIT.internal, 'the current batch could not be read', {
    retry: 'with-key',
  }),
  ERR_BATCH_INIT_FAILED: rule(500, EXIT.internal, 'init failed inside the service', { retry: 'with-key' }),
  ERR_BATCH_EXECUTE_FAILED: rule(500, EXIT.internal, 'execute failed inside the service', {
    retry: 'with-key',
  }),
  ERR_INTERNAL: rule(500, EXIT.internal, 'internal error', { retry: 'with-key' }),
  ERR_UNAVAILABLE: rule(
    503,
    EXIT.unavailable,
    'the store or the chain is out of reach, or the service is shutting down',
    {
      retry: 'always',
    },
  ),
  ERR_STORE_BEHIND: rule(
    503,
    EXIT.unavailable,
    'the chain knows burns of this project of which the store has no record: an older copy of it was restored; reads go on',
    {
      retry: 'always',
      hint: 'Whoever runs the service has to see what is missing: `flywheel db accept-gap`. Nothing was done.',
    },
  ),

  ERR_SIGNER_FAILED: rule(
    500,
    EXIT.internal,
    'the program that signs for the operator or the burn wallet gave no signature; nothing was sent',
    {
      retry: 'with-key',
      hint: 'See that the program of --operator-signer or --burn-signer works, and run the command again.',
    },
  ),
  ERR_SIGNATURE_WRONG: rule(
    500,
    EXIT.internal,
    'that program gave a signature that is not of the registered key over the message; nothing was sent',
  ),

  ERR_USAGE: rule(null, EXIT.usage, 'the command line is wrong'),
  ERR_INPUT_INVALID: rule(null, EXIT.usage, 'an input file or option value is invalid; nothing was sent'),
  ERR_CONFIG_INVALID: rule(null, EXIT.usage, 'the configuration is wrong'),
  ERR_LOCAL_NOT_FOUND: rule(null, EXIT.usage, 'the data directory holds no registered flywheel', {
    hint: 'Run `flywheel local init` first, or give --data-dir.',
  }),
  ERR_LOCAL_ALREADY_EXISTS: rule(
    null,
    EXIT.usage,
    'the data directory already holds a registered flywheel, or the database what this one would have',
    {
      hint: '`flywheel local status` shows it; `flywheel local reset --yes` wipes it.',
    },
  ),
  ERR_KEYPAIR_INVALID: rule(
    null,
    EXIT.usage,
    'the keypair cannot be read, is malformed, or others can read its file',
  ),
  ERR_STORE_UNAVAILABLE: rule(
    null,
    EXIT.unavailable,
    'the data directory is locked, read-only, full or damaged',
  ),
  ERR_STORE_VERSION_MISMATCH: rule(
    null,
    EXIT.unavailable,
    'the database has another schema than this version of flywheel works on',
    { hint: '`flywheel db status` shows both; `flywheel db migrate` brings an older one up to date.' },
  ),
  ERR_APPROVAL_REFUSED: rule(null, EXIT.unsafe, 'the approval is not what it should be; nothing was signed'),
  ERR_CHAIN_MISMATCH: rule(
    null,
    EXIT.unsafe,
    'two RPC nodes that have to agree do not agree about the chain, so neither is believed',
    {
      hint: 'Find out which of the nodes is right before anything is signed: run `flywheel doctor`, or give others with --rpc-url.',
    },
  ),
  ERR_NOT_VERIFIED: rule(null, EXIT.unsafe, 'what stands on chain is not, or not all of, what was expected'),
  ERR_OUTCOME_UNKNOWN: rule(
    null,
    EXIT.unknownOutcome,
    'the request was sent, and no answer came that can be believed',
  ),
  ERR_OUTPUT_FAILED: rule(
    null,
    EXIT.internal,
    'what came of the operation is known and stored, and could not be written; the same command writes it again',
  ),
  ERR_TIMEOUT: rule(null, EXIT.pending, 'still pending when the time of --timeout or --wait ended'),
  ERR_BATCH_FAILED: rule(null, EXIT.failedOnChain, 'the batch failed on chain'),
  ERR_PARTIAL: rule(null, EXIT.partial, 'some elements of the burn-batch failed'),
  ERR_RESPONSE_INVALID: rule(
    null,
    EXIT.internal,
    'the service, or an RPC node, answered with something that is not its contract',
  ),
  ERR_INTERRUPTED: rule(null, EXIT.interrupted, 'interrupted'),
  ERR_DECLINED: rule(null, EXIT.interrupted, 'the question was answered with no'),
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);
