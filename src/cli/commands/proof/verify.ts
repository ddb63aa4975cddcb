/** `flywheel proof verify`: does a landed transaction carry the hash of this proof? */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { proofHash } from '../../../values/digest.js';
import { isoTime } from '../../../values/time.js';
import { type CommandSpec, type Invocation, inSteps, type Session } from '../../command.js';
import { type NamedText, readInputText } from '../../files/read-input.js';
import { readProof } from '../../input/proof.js';
import { fieldLines } from '../../output/table.js';

interface Input {
  readonly signature: string;
  readonly proof: NamedText;
}

const parse = async (invocation: Invocation, { context }: Session): Promise<Input> => ({
  signature: invocation.requiredOption('tx'),
  proof: await readInputText(context, invocation.requiredOption('proof')),
});

async function run(session: Session, { signature, proof }: Input) {
  const hash = proofHash(readProof(proof));
  const { chain } = await session.service();
  if (chain === null) {
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No chain can be read, so nothing can be verified.', {
      hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.',
    });
  }
  const [record, wire] = await Promise.all([
    chain.lookUp([signature]).then(([found]) => found ?? null),
    chain.getTransaction(signature),
  ]);
  if (record === null || wire === null)
    throw new FlywheelError('ERR_NOT_FOUND', `No transaction ${signature} has landed.`);
  if (record.error !== null)
    throw new FlywheelError('ERR_INVALID_PROOF', `The transaction ${signature} failed on chain.`);
  const { proofMemos } = await import('../../proof/landed-memo.js');
  const memo = proofMemos(wire, record.logs).find((found) => found.hash === hash);
  if (memo === undefined)
    throw new FlywheelError(
      'ERR_INVALID_PROOF',
      `The transaction ${signature} carries no memo with the hash ${hash}.`,
    );
  return {
    verified: true,
    txHash: signature,
    hash,
    type: memo.type,
    slot: record.slot.toString(),
    dateLanded: isoTime(record.blockTimeMs),
  };
}

export const command: CommandSpec = {
  options: [
    { flags: '--tx <signature>', description: 'signature of the transaction', required: true },
    {
      flags: '--proof <file>',
      description: 'the proof, a JSON object; - for standard input',
      required: true,
    },
  ],
  details: ['The transaction is read from the local ledger, or from FLYWHEEL_RPC_URL in remote use.'],
  output: ['{ "verified": true, "txHash", "hash", "type", "slot", "dateLanded" }'],
  errors: ['ERR_INPUT_INVALID', 'ERR_NOT_FOUND', 'ERR_INVALID_PROOF', 'ERR_CONFIG_INVALID'],
  examples: ['flywheel proof verify --tx SIGNATURE --proof proof.json'],
  run: inSteps({
    parse,
    run,
    view: (value, style) => [
      style.good('Verified: the transaction carries the hash of this proof.'),
      ...fieldLines(
        [
          ['transaction', value.txHash],
          ['proof hash', value.hash],
          ['proof type', value.type],
          ['slot', value.slot],
          ['landed', value.dateLanded],
        ],
        style.dim,
      ),
    ],
  }),
};
