/**
 * The table of error codes with HTTP status, exit code, retry rule and default hint. Codes and statuses follow the service
 * specification, section 7, and the contract, section 1.3. A code is never renamed or reused.
 */
import { EXIT, type ExitCode, exitOfStatus } from './exit-codes.js';

/** Whether to repeat the same request; `with-key`: only with an idempotency key. */
type RetryRule = 'never' | 'always' | 'with-key';

interface ErrorRule {
  /** `null`: arises only at the command line. */
  readonly status: number | null;
  readonly exit: ExitCode;
  readonly retry: RetryRule;
  /** When the error is raised; printed in docs/errors.md and in OpenAPI. */
  readonly when: string;
  readonly hint?: string;
}

/** Sent by the service. Exit code and retry rule follow the status unless given. */
const wire = (
  status: number,
  when: string,
  more: Partial<Pick<ErrorRule, 'exit' | 'retry' | 'hint'>> = {},
): ErrorRule => ({ status, exit: exitOfStatus(status), retry: retryOfStatus(status), when, ...more });

const local = (exit: ExitCode, when: string, more: Pick<ErrorRule, 'hint'> = {}): ErrorRule => ({
  ...{ status: null, exit, retry: 'never', when },
  ...more,
});

function retryOfStatus(status: number): RetryRule {
  if (status === 429 || status === 503) return 'always';
  return status >= 500 ? 'with-key' : 'never';
}

const fundsHint = (...ways: readonly string[]): string =>
  `Reduce the amounts, or send what is missing to the address in the message. For test tokens and test SOL of an embedded project: ${ways.map((way) => `\`flywheel local fund ${way}\``).join(' or ')}.`;

export const ERRORS = {
  ERR_INVALID_REQUEST: wire(400, 'the request is not JSON, has the wrong shape, or has an invalid header', {
    exit: EXIT.usage,
  }),
  ERR_TOKEN_NOT_FOUND: wire(400, 'the token is unknown, or is not a v1 token (burn operations need one)'),
  ERR_CREATE_API_EVENT_FAILED: wire(400, 'the record of the burn attempt could not be written', {
    retry: 'with-key',
    hint: 'Nothing was burned. Run the command again.',
  }),
  ERR_INVALID_PROOF: wire(
    400,
    'the proof type is unknown or not permitted for the key, or the proof is invalid',
    {
      hint: 'Use a proof type of the project. They are set once, by --proof-type of local init or register. `flywheel keys list` shows those of each key.',
    },
  ),
  ERR_BURN_TOKENOMICS_FAILED: wire(
    400,
    'a single burn failed: the burn wallet lacks tokens or SOL, or the chain refused the burn',
    { hint: fundsHint('--to burn-wallet --tokens N --sol N') },
  ),
  ERR_FLYWHEEL_NOT_FOUND: wire(
    400,
    "the project's multisig is not on chain, or its operator is not a member with all rights",
  ),
  ERR_ACTION_NOT_SUPPORTED: wire(400, 'the action is known but not available'),
  ERR_PIPELINE_TOO_LARGE: wire(400, 'a pipeline does not fit one transaction', {
    hint: 'Split the pipeline into several, or shorten its memos.',
  }),
  ERR_INSUFFICIENT_FUNDS: wire(
    400,
    'a batch, an approval or a registration cannot be paid for (a single burn: ERR_BURN_TOKENOMICS_FAILED)',
    { hint: fundsHint('--tokens N --sol N', '--to operator --sol N') },
  ),
  ERR_DAILY_LIMIT_EXCEEDED: wire(400, 'the request would exceed the daily cap (UTC day)', {
    hint: 'Reduce the amount, wait for the next UTC day, or raise the cap: `flywheel caps --burn N` or `flywheel caps --airdrop N`.',
  }),
  ERR_INVALID_SIGNED_TX: wire(
    400,
    "the signed transaction is not this batch's approval, or is not signed by the owner",
    { hint: 'Sign the approval of this batch with `flywheel batch approve`.' },
  ),
  ERR_APPROVAL_EXPIRED: wire(400, 'the signed approval expired before it landed', {
    hint: 'Sign a new approval: run `flywheel batch approve` again.',
  }),
  ERR_UNAUTHORIZED: wire(401, 'the API key is missing, unknown or revoked', {
    hint: 'Check the key in FLYWHEEL_API_KEY or the profile, and the API address: `flywheel whoami`',
  }),
  ERR_KEY_SCOPES_UNAUTHORIZED: wire(403, 'the API key lacks the scope', {
    hint: 'Create a key with both scopes: `flywheel keys create --scope burn --scope airdrop`.',
  }),
  ERR_BATCH_NOT_FOUND: wire(404, "the API key's project has no batch with this id"),
  ERR_NOT_FOUND: wire(404, 'nothing is at this path'),
  ERR_METHOD_NOT_ALLOWED: wire(405, 'the path exists with another method'),
  ERR_DUPLICATE_IDEMPOTENCY_KEY: wire(409, 'a request with the same idempotency key is still running', {
    exit: EXIT.unavailable,
    retry: 'with-key',
  }),
  ERR_BATCH_NOT_FINALIZED: wire(409, 'execute was called before the set-up of the batch had finished', {
    hint: 'Run the file of the batch again: that finishes its set-up.',
  }),
  ERR_BATCH_IN_PROGRESS: wire(
    409,
    'the batch is already being executed, or waits for votes of other members or for a time lock',
    {
      exit: EXIT.unavailable,
      retry: 'always',
    },
  ),
  ERR_PAYLOAD_TOO_LARGE: wire(413, 'the body is over the limit (4 MiB unless configured)', {
    exit: EXIT.usage,
  }),
  ERR_UNSUPPORTED_MEDIA_TYPE: wire(415, 'the body is not application/json'),
  ERR_IDEMPOTENCY_KEY_REUSED: wire(422, 'the idempotency key was used with another body', {
    hint: 'Use a new key for a new request, or send the first body again unchanged.',
  }),
  ERR_RATE_LIMIT_EXCEEDED: wire(429, 'the API key is over the rate limit of this operation'),
  ERR_BATCH_CURRENT_FAILED: wire(500, 'the current batch could not be read'),
  ERR_BATCH_INIT_FAILED: wire(500, 'init failed with an internal error', {
    hint: 'Show the batch and why its set-up stopped: `flywheel batch current`',
  }),
  ERR_BATCH_EXECUTE_FAILED: wire(500, 'execute failed with an internal error'),
  ERR_INTERNAL: wire(500, 'internal error'),
  ERR_UNAVAILABLE: wire(503, 'the store or the chain cannot be reached, or the service is shutting down'),
  ERR_STORE_BEHIND: wire(
    503,
    'the chain has burns of this project that the store does not know: an older copy of the store was restored. A server still answers reads',
    {
      hint: 'Nothing was sent. The operator of the service must review the missing transactions: `flywheel db accept-gap`. If the message names a transaction, check it, and drop the operation: `flywheel pending forget`.',
    },
  ),
  ERR_SIGNER_FAILED: wire(
    500,
    'the signing program of the operator or the burn wallet returned no signature; that transaction was not sent',
    { hint: 'Check the program of --operator-signer or --burn-signer, then run the command again.' },
  ),
  ERR_SIGNATURE_WRONG: wire(
    500,
    'the signing program returned a wrong signature; that transaction was not sent',
    {
      retry: 'never',
    },
  ),

  ERR_USAGE: local(EXIT.usage, 'an option or argument is unknown, missing or invalid'),
  ERR_INPUT_INVALID: local(EXIT.usage, 'an input file or option value is invalid; nothing was sent'),
  ERR_CONFIG_INVALID: local(EXIT.usage, 'a setting is invalid; the message names it'),
  ERR_LOCAL_NOT_FOUND: local(EXIT.usage, 'the data directory has no project', {
    hint: 'Create a project with `flywheel local init`, or name another directory with --data-dir.',
  }),
  ERR_LOCAL_ALREADY_EXISTS: local(
    EXIT.usage,
    'the data directory already has a project, or the database has one with the same name, mint or vault',
    {
      hint: 'Show the project: `flywheel vault`. Use another directory with --data-dir. `flywheel local reset` deletes a local project and its keys.',
    },
  ),
  ERR_KEYPAIR_INVALID: local(
    EXIT.usage,
    'the keypair cannot be read or is malformed, or other users can read its file',
  ),
  ERR_STORE_UNAVAILABLE: local(EXIT.unavailable, 'the data directory is locked, read-only, full or damaged'),
  ERR_STORE_VERSION_MISMATCH: local(
    EXIT.unavailable,
    'the database has a schema of another version of flywheel',
    {
      hint: 'Compare the versions with `flywheel db status`. Upgrade an older schema with `flywheel db migrate`.',
    },
  ),
  ERR_APPROVAL_REFUSED: local(EXIT.unsafe, 'the approval check failed; nothing was signed'),
  ERR_CHAIN_MISMATCH: local(EXIT.unsafe, 'two RPC nodes report different chains or states', {
    hint: 'Find out which node is right before you sign: run `flywheel doctor`, or use other nodes with --rpc-url.',
  }),
  ERR_NOT_VERIFIED: local(EXIT.unsafe, 'what is on chain differs from what was expected'),
  ERR_OUTCOME_UNKNOWN: local(EXIT.unknownOutcome, 'the request was sent, and no valid answer came back'),
  ERR_OUTPUT_FAILED: local(
    EXIT.internal,
    'the operation is done and its outcome is stored, but the output could not be written; the same command prints it again',
  ),
  ERR_TIMEOUT: local(EXIT.pending, 'still pending when --wait ran out'),
  ERR_BATCH_FAILED: local(EXIT.failedOnChain, 'the batch failed on chain'),
  ERR_PARTIAL: local(EXIT.partial, 'some burns of the burn-batch failed'),
  ERR_RESPONSE_INVALID: local(EXIT.internal, 'the service or an RPC node returned an invalid response'),
  ERR_INTERRUPTED: local(EXIT.interrupted, 'interrupted'),
  ERR_DECLINED: local(EXIT.interrupted, 'the question was answered with "no"'),
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);
