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
    'the request is not JSON, has the wrong shape, or has an invalid header',
  ),
  ERR_TOKEN_NOT_FOUND: rule(
    400,
    EXIT.refused,
    "the API key's token is unknown, or is not a v1 token (burn operations need one)",
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
  ERR_BURN_TOKENOMICS_FAILED: rule(400, EXIT.refused, 'the burn failed on chain or could not be sent'),
  ERR_FLYWHEEL_NOT_FOUND: rule(400, EXIT.refused, "the API key's token has no registered project"),
  ERR_ACTION_NOT_SUPPORTED: rule(400, EXIT.refused, 'the action is known but not available'),
  ERR_PIPELINE_TOO_LARGE: rule(400, EXIT.refused, 'a pipeline does not fit one transaction', {
    hint: 'Split the pipeline into several, or shorten its memos.',
  }),
  ERR_INSUFFICIENT_FUNDS: rule(
    400,
    EXIT.refused,
    'the vault, the burn wallet or the operator lacks tokens or SOL',
  ),
  ERR_DAILY_LIMIT_EXCEEDED: rule(400, EXIT.refused, 'the request would exceed the daily cap (UTC day)', {
    hint: 'Reduce the amount, or wait for the next UTC day.',
  }),
  ERR_INVALID_SIGNED_TX: rule(
    400,
    EXIT.refused,
    "the signed transaction is not this batch's approval, or is not signed by the owner",
    {
      hint: 'Sign the approval of this batch with `flywheel batch approve`.',
    },
  ),
  ERR_APPROVAL_EXPIRED: rule(400, EXIT.refused, 'the signed approval has expired and did not land', {
    hint: 'Run `flywheel batch approve` again for a fresh approval.',
  }),
  ERR_UNAUTHORIZED: rule(401, EXIT.auth, 'the API key is missing, unknown or revoked', {
    hint: 'Set FLYWHEEL_API_KEY, or store the key with `flywheel profile add --api-key-stdin`.',
  }),
  ERR_KEY_SCOPES_UNAUTHORIZED: rule(403, EXIT.auth, 'the API key lacks the scope', {
    hint: 'Use a key with that scope: `flywheel keys create --scope …`.',
  }),
  ERR_BATCH_NOT_FOUND: rule(404, EXIT.refused, "the API key's project has no batch with this id"),
  ERR_NOT_FOUND: rule(404, EXIT.refused, 'there is nothing at this path'),
  ERR_METHOD_NOT_ALLOWED: rule(405, EXIT.refused, 'the path exists with another method'),
  ERR_DUPLICATE_IDEMPOTENCY_KEY: rule(
    409,
    EXIT.unavailable,
    'a request with the same idempotency key is still running',
    {
      retry: 'with-key',
    },
  ),
  ERR_BATCH_NOT_FINALIZED: rule(
    409,
    EXIT.refused,
    'execute was called before the set-up of the batch had finished',
    {
      hint: 'Run `batch init` again with the same idempotency key to finish the set-up.',
    },
  ),
  ERR_BATCH_IN_PROGRESS: rule(409, EXIT.unavailable, 'the batch is already being executed', {
    retry: 'always',
  }),
  ERR_PAYLOAD_TOO_LARGE: rule(413, EXIT.usage, 'the body is over the limit (4 MiB unless configured)'),
  ERR_UNSUPPORTED_MEDIA_TYPE: rule(415, EXIT.refused, 'the body is not application/json'),
  ERR_IDEMPOTENCY_KEY_REUSED: rule(422, EXIT.refused, 'the idempotency key was used with another body', {
    hint: 'Use a new key for a new request, or send the first body again unchanged.',
  }),
  ERR_RATE_LIMIT_EXCEEDED: rule(
    429,
    EXIT.unavailable,
    'the API key is over the rate limit of this operation',
    {
      retry: 'always',
    },
  ),
  ERR_BATCH_CURRENT_FAILED: rule(500, EXIT.internal, 'the current batch could not be read', {
    retry: 'with-key',
  }),
  ERR_BATCH_INIT_FAILED: rule(500, EXIT.internal, 'init failed with an internal error', {
    retry: 'with-key',
    hint: 'See the batch, and why its set-up stopped: `flywheel batch current`',
  }),
  ERR_BATCH_EXECUTE_FAILED: rule(500, EXIT.internal, 'execute failed with an internal error', {
    retry: 'with-key',
  }),
  ERR_INTERNAL: rule(500, EXIT.internal, 'internal error', { retry: 'with-key' }),
  ERR_UNAVAILABLE: rule(
    503,
    EXIT.unavailable,
    'the store or the chain cannot be reached, or the service is shutting down',
    {
      retry: 'always',
    },
  ),
  ERR_STORE_BEHIND: rule(
    503,
    EXIT.unavailable,
    'the chain has burns of this project that the store does not know: an older copy of the store was restored. Reads still work',
    {
      retry: 'always',
      hint: 'Nothing was sent. The operator of the service has to review what is missing: `flywheel db accept-gap`.',
    },
  ),

  ERR_SIGNER_FAILED: rule(
    500,
    EXIT.internal,
    'the signing program of the operator or the burn wallet returned no signature; that transaction was not sent',
    {
      retry: 'with-key',
      hint: 'Check the program of --operator-signer or --burn-signer, then run the command again.',
    },
  ),
  ERR_SIGNATURE_WRONG: rule(
    500,
    EXIT.internal,
    'the signing program returned a wrong signature; that transaction was not sent',
  ),

  ERR_USAGE: rule(null, EXIT.usage, 'the command line is wrong'),
  ERR_INPUT_INVALID: rule(null, EXIT.usage, 'an input file or option value is invalid; nothing was sent'),
  ERR_CONFIG_INVALID: rule(null, EXIT.usage, 'the configuration is wrong'),
  ERR_LOCAL_NOT_FOUND: rule(null, EXIT.usage, 'the data directory has no project', {
    hint: 'Create a project with `flywheel local init`, or name another directory with --data-dir.',
  }),
  ERR_LOCAL_ALREADY_EXISTS: rule(
    null,
    EXIT.usage,
    'the data directory already has a project, or the database has one with the same name, mint or vault',
    {
      hint: 'See it with `flywheel local status`, or delete it with `flywheel local reset --yes`.',
    },
  ),
  ERR_KEYPAIR_INVALID: rule(
    null,
    EXIT.usage,
    'the keypair cannot be read or is malformed, or other users can read its file',
  ),
  ERR_STORE_UNAVAILABLE: rule(
    null,
    EXIT.unavailable,
    'the data directory is locked, read-only, full or damaged',
  ),
  ERR_STORE_VERSION_MISMATCH: rule(
    null,
    EXIT.unavailable,
    'the database has a schema of another version of flywheel',
    {
      hint: 'Compare the versions with `flywheel db status`. Upgrade an older schema with `flywheel db migrate`.',
    },
  ),
  ERR_APPROVAL_REFUSED: rule(null, EXIT.unsafe, 'the approval check failed; nothing was signed'),
  ERR_CHAIN_MISMATCH: rule(null, EXIT.unsafe, 'two RPC nodes that must agree disagree about the chain', {
    hint: 'Find out which node is right before you sign: run `flywheel doctor`, or use other nodes with --rpc-url.',
  }),
  ERR_NOT_VERIFIED: rule(null, EXIT.unsafe, 'what is on chain differs from what was expected'),
  ERR_OUTCOME_UNKNOWN: rule(
    null,
    EXIT.unknownOutcome,
    'the request was sent, and no trustworthy answer came back',
  ),
  ERR_OUTPUT_FAILED: rule(
    null,
    EXIT.internal,
    'the operation is done and its outcome is stored, but the output could not be written; the same command prints it again',
  ),
  ERR_TIMEOUT: rule(null, EXIT.pending, 'still pending when --timeout or --wait ran out'),
  ERR_BATCH_FAILED: rule(null, EXIT.failedOnChain, 'the batch failed on chain'),
  ERR_PARTIAL: rule(null, EXIT.partial, 'some burns of the burn-batch failed'),
  ERR_RESPONSE_INVALID: rule(null, EXIT.internal, 'the service or an RPC node returned an invalid response'),
  ERR_INTERRUPTED: rule(null, EXIT.interrupted, 'interrupted'),
  ERR_DECLINED: rule(null, EXIT.interrupted, 'the question was answered with "no"'),
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);
