/** `batch approve --wallet`: which batch it is about, and its operation. */
import { digestText } from '../../actions/pipelines.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fingerprint } from '../../values/digest.js';
import { isUuid, type Uuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import { runOperation } from '../operation/run-operation.js';
import { readApproval } from './approval-source.js';
import { expectedDigest, readExpectation } from './expectation.js';
import { WalletApprovalWork, walletNote } from './wallet-approval-work.js';

/** What belongs to signing here, or to signing what was not checked. */
const OTHER_WAYS = { keypair: '--keypair', out: '--out' } as const;

interface Options {
  readonly keypair?: string;
  readonly out?: string;
  readonly expect?: string;
  readonly allowUnverified?: true;
  readonly simulate: boolean;
}

/** @throws `ERR_USAGE` for options that mean another way of signing. */
export async function approveWithWallet(
  session: Session,
  source: string,
  options: Options,
): Promise<undefined> {
  for (const [name, flag] of Object.entries(OTHER_WAYS))
    if (options[name as keyof typeof OTHER_WAYS] !== undefined)
      throw new FlywheelError('ERR_USAGE', `--wallet and ${flag} exclude each other.`);
  if (options.allowUnverified === true)
    throw new FlywheelError(
      'ERR_USAGE',
      '--wallet sends to the chain that it has checked; --allow-unverified has none.',
    );
  const { expect } = options;
  const expectation = expect === undefined ? null : await readExpectation(session, expect);
  const batchId = await batchIdOf(session, source);
  await runOperation(
    session,
    {
      kind: 'approve',
      content: fingerprint({ batchId }),
      origin: { from: 'content' },
      body: () => JSON.stringify({ batchId }),
      notes: () =>
        walletNote(expectation === null ? null : digestText(expectedDigest(expectation)), options.simulate),
      command: session.commandLine,
      elements: [],
      again: false,
    },
    new WalletApprovalWork(session, batchId, expectation),
  );
  return undefined;
}

/** The approval that was issued is not needed: the wallet signs one of its own. */
async function batchIdOf(session: Session, source: string): Promise<Uuid> {
  if (isUuid(source)) return source.toLowerCase() as Uuid;
  return (await readApproval(session, source)).batch.id.toLowerCase() as Uuid;
}
