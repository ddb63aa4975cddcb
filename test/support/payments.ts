import { transfer } from '../../src/chain/small-programs.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import type { KeypairSigner } from '../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../src/chain/transaction/wire.js';
import type { Address } from '../../src/values/address.js';
import { lamportsOf, type TestEngine } from './engine.js';
import { signTransaction } from './sign.js';

const FEE_LAMPORTS = 5_000n;

/** Sends one transaction that `payer` signs and pays for. @returns the reason why it did not land or failed, else `null` */
export async function tryLand(
  { chain }: TestEngine,
  payer: KeypairSigner,
  instructions: readonly Instruction[],
): Promise<object | null> {
  const { blockhash } = await chain.latestBlockhash();
  const message = compileLegacyMessage({ payer: payer.address, instructions, blockhash });
  const { bytes, signature } = signTransaction(message, [payer]);
  const [rejection] = await chain.submit([bytes]);
  const [record] = await chain.lookUp([signature]);
  return rejection ?? (record == null ? { error: 'It is not there.' } : record.error);
}

/** Like {@link tryLand}. @throws if the transaction did not succeed. */
export async function land(...[test, payer, instructions]: Parameters<typeof tryLand>): Promise<void> {
  const problem = await tryLand(test, payer, instructions);
  if (problem !== null) throw new TypeError(`It did not land: ${JSON.stringify(problem)}`);
}

/** Takes all but `leave` lamports out of a wallet whose key the service has. */
export async function drain(test: TestEngine, wallet: string, leave: bigint): Promise<void> {
  const signer = test.deps.keyring.get(wallet as Address);
  const held = await lamportsOf(test.chain, wallet);
  const to = test.deps.treasury as Address;
  await land(test, signer, [transfer({ from: signer.address, to, lamports: held - leave - FEE_LAMPORTS })]);
}
