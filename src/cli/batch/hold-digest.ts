/** Holds what was approved against what will run, and afterwards against what ran: both from the user's own chain. */
import { digestText } from '../../actions/pipelines.js';
import { checkBatchContent, type JudgedContent } from '../../approval/check-content.js';
import { type PastDescription, readPastContent } from '../../approval/past-content.js';
import { readBatch } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { BatchRef } from '../../chain/squads/instructions/batch.js';
import { transactionAddress } from '../../chain/squads/layouts/addresses.js';
import type { Batch, ExecuteResult } from '../../contract/schemas/batch.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { refusalOf } from './review.js';

type NamedBatch = Pick<Batch, 'id' | 'batchIndex'>;

const refOf = ({ multisig }: Flywheel, { batchIndex }: NamedBatch): BatchRef => ({
  multisig,
  batchIndex: BigInt(batchIndex),
});

async function isOpen(chain: ChainReader, { multisig, batchIndex }: BatchRef): Promise<boolean> {
  const [account] = await chain.getAccounts([transactionAddress(multisig, batchIndex).address]);
  return account != null;
}

/** How a batch on chain differs from the one that was approved, or `null`. */
async function difference(
  content: JudgedContent,
  flywheel: Flywheel,
  digest: Sha256,
): Promise<string | null> {
  const refusal = await refusalOf(() => checkBatchContent(content, flywheel));
  if (refusal !== null) return refusal.message.replace(/\.$/, '');
  return content.digest === digest
    ? null
    : `its digest is ${content.digest === null ? 'none' : digestText(content.digest)}, approved was ${digestText(digest)}`;
}

const contradiction = (code: ErrorCode, { id }: NamedBatch, message: string): FlywheelError =>
  new FlywheelError(code, message, {
    hint: `Do not go on before this is cleared up: \`flywheel batch inspect ${id}\`, another RPC node, and a block explorer.`,
  });

/**
 * Just before a batch is executed. One whose accounts are closed is not looked at: nothing more of it can run.
 * @param wasSent - an approval may have been sent before.
 * @throws `ERR_APPROVAL_REFUSED` where it is not the one that was approved; `ERR_OUTCOME_UNKNOWN` when that comes too late.
 */
export async function requireWillRun(
  opened: Pick<OpenedService, 'chain' | 'trusted'>,
  batch: NamedBatch,
  digest: Sha256 | null,
  wasSent: boolean,
): Promise<void> {
  const { chain } = opened;
  if (chain === null || digest === null) return;
  const trusted = await opened.trusted();
  if (trusted === null) return;
  const ref = refOf(trusted, batch);
  if (!(await isOpen(chain, ref))) return;
  const found = await difference(await readBatch(chain, ref), trusted, digest);
  if (found === null) return;
  throw contradiction(
    wasSent ? 'ERR_OUTCOME_UNKNOWN' : 'ERR_APPROVAL_REFUSED',
    batch,
    `Batch ${batch.id} as it would run is not the one that was approved: ${found}.${wasSent ? '' : ' It was not executed.'}`,
  );
}

/**
 * After a batch was executed, as the service says. The embedded engine and its ledger are one.
 * @throws `ERR_OUTCOME_UNKNOWN` when what ran is not what was approved, or not as much as the service says.
 */
export async function requireRanAsApproved(
  session: Session,
  opened: Pick<OpenedService, 'kind' | 'chain' | 'history' | 'trusted'>,
  batch: NamedBatch,
  { totalSuccessful }: Pick<ExecuteResult, 'totalSuccessful'>,
  digest: Sha256 | null,
): Promise<void> {
  const { kind, chain, history } = opened;
  if (kind === 'embedded' || chain === null || history === null) return;
  if (digest === null || totalSuccessful === 0) return;
  const trusted = await opened.trusted();
  if (trusted === null) return;
  const ref = refOf(trusted, batch);
  const past = await readPastContent(chain, history, ref).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return null;
    throw error;
  });
  if (past === null) {
    session.output.warn(
      `The RPC node does not know the past of batch ${batch.id}, so what ran was not held against what was approved.`,
    );
    return;
  }
  const found = (await difference(past, trusted, digest)) ?? miscount(past, totalSuccessful);
  if (found === null) return;
  const ran = past.executions.flatMap((execution) => (execution === null ? [] : [execution.signature]));
  throw contradiction(
    'ERR_OUTCOME_UNKNOWN',
    batch,
    `Batch ${batch.id} as it ran on chain is not the one that was approved: ${found}; executed by ${ran.join(', ') || 'no transaction'}.`,
  );
}

function miscount({ executions }: PastDescription, said: number): string | null {
  const ran = executions.filter((execution) => execution !== null).length;
  return ran === said ? null : `${ran} of its transactions were executed, the service says ${said}`;
}
