/** Tokens and SOL that move past the service: from the treasury, from strangers, out of wallets that must run dry. */
import { tokenProgramAddress } from '../../src/chain/programs.js';
import { transfer } from '../../src/chain/small-programs.js';
import { associatedTokenAddress } from '../../src/chain/squads/addresses.js';
import {
  createAssociatedTokenAccountIdempotent,
  transferChecked,
} from '../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import type { KeypairSigner } from '../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../src/chain/transaction/wire.js';
import type { Address } from '../../src/values/address.js';
import { lamportsOf, type TestEngine, type TestProject } from './engine.js';
import { signTransaction } from './sign.js';

const FEE_LAMPORTS = 5_000n;

export const treasuryOf = ({ deps }: TestEngine): KeypairSigner => deps.keyring.get(deps.treasury as Address);

/** Sends one transaction that `payer` signs and pays for. @returns why it has not landed, or has failed; else `null` */
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

/** The same, where it has to land. */
export async function land(...[test, payer, instructions]: Parameters<typeof tryLand>): Promise<void> {
  const problem = await tryLand(test, payer, instructions);
  if (problem !== null) throw new TypeError(`It did not land: ${JSON.stringify(problem)}`);
}

/** Sends SOL. */
export const sendLamports = (
  test: TestEngine,
  from: KeypairSigner,
  to: string,
  lamports: bigint,
): Promise<void> => land(test, from, [transfer({ from: from.address, to: to as Address, lamports })]);

/** Sends base units of the project's token; the recipient's account is opened when missing. */
export async function sendTokens(
  test: TestEngine,
  { registration }: TestProject,
  sent: { readonly from: KeypairSigner; readonly to: string; readonly amount: bigint },
): Promise<void> {
  const { from, to, amount } = sent;
  const tokenProgram = tokenProgramAddress(registration.tokenProgram);
  const mint = registration.mintAddress as Address;
  const at = (wallet: string): Address => associatedTokenAddress(wallet as Address, mint, tokenProgram);
  const { decimals } = registration;
  const owner = from.address;
  await land(test, from, [
    createAssociatedTokenAccountIdempotent({ payer: owner, owner: to as Address, mint, tokenProgram }),
    transferChecked({ from: at(owner), mint, to: at(to), owner, amount, decimals, tokenProgram }),
  ]);
}

/** Takes all but `leave` lamports out of a wallet whose key the service holds. */
export async function drain(test: TestEngine, wallet: string, leave: bigint): Promise<void> {
  const signer = test.deps.keyring.get(wallet as Address);
  const held = await lamportsOf(test.chain, wallet);
  await sendLamports(test, signer, treasuryOf(test).address, held - leave - FEE_LAMPORTS);
}
