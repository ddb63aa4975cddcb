/** `flywheel proof verify`: does a landed transaction carry the hash of this proof? */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { proofHash } from '../../../values/digest.js';
import { isoTime } from '../../../values/time.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { readProof } from '../../input/proof.js';
import { readInputText } from '../../input/read-input.js';
import { fieldLines } from '../../output/table.js';

const configure = (command: Command) =>
  command
    .requiredOption('--tx <signature>', 'signature of the transaction')
    .requiredOption('--proof <file>', 'the proof, a JSON object; - for standard input');

type Options = OptionsOf<typeof configure>;

async function run(session: Session, _args: [], { tx, proof }: Options): Promise<undefined> {
  const hash = proofHash(readProof(await readInputText(session.context, proof)));
  const { chain } = await session.service();
  if (chain === null) {
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No chain can be read, so nothing can be verified.', {
      hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.',
    });
  }
  const [record, wire] = await Promise.all([
    chain.lookUp([tx]).then(([found]) => found ?? null),
    chain.getTransaction(tx),
  ]);
  if (record === null || wire === null)
    throw new FlywheelError('ERR_NOT_FOUND', `No transaction ${tx} has landed.`);
  if (record.error !== null)
    throw new FlywheelError('ERR_INVALID_PROOF', `The transaction ${tx} failed on chain.`);
  const { proofMemos } = await import('../../proof/landed-memo.js');
  const memo = proofMemos(wire, record.logs).find((found) => found.hash === hash);
  if (memo === undefined)
    throw new FlywheelError(
      'ERR_INVALID_PROOF',
      `The transaction ${tx} carries no memo with the hash ${hash}.`,
    );
  const value = {
    verified: true,
    txHash: tx,
    hash,
    type: memo.type,
    slot: record.slot.toString(),
    dateLanded: isoTime(record.blockTimeMs),
  };
  session.output.result(value, (style) => [
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
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: ['The transaction is read from the local ledger, or from FLYWHEEL_RPC_URL in remote use.'],
  output: ['{ "verified": true, "txHash", "hash", "type", "slot", "dateLanded" }'],
  errors: ['ERR_INPUT_INVALID', 'ERR_NOT_FOUND', 'ERR_INVALID_PROOF', 'ERR_CONFIG_INVALID'],
  examples: ['flywheel proof verify --tx SIGNATURE --proof proof.json'],
});
