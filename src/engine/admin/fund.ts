/** Funding from the local treasury: SOL, and tokens of the registered mint. */
import { tokenProgramAddress } from '../../chain/programs.js';
import { transfer } from '../../chain/small-programs.js';
import { associatedTokenAddress } from '../../chain/squads/addresses.js';
import { decodeTokenAccount } from '../../chain/tokens/accounts.js';
import { createAssociatedTokenAccountIdempotent, transferChecked } from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { FundInput, FundResult } from '../../contract/admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import { type Address, address } from '../../values/address.js';
import { formatTokenAmount, parseTokenAmount } from '../../values/token-amount.js';
import { SOL_DECIMALS } from '../amount-text.js';
import type { EngineDeps } from '../deps.js';
import { landWhole } from './land-whole.js';
import { requireTreasury } from './register.js';

/**
 * Sends tokens, SOL or both in one transaction.
 *
 * No intent is stored: each call is a gift of its own without an idempotency key, so that no later call asks what became of it,
 * nothing of caps or usage is reserved for it, and the answer says what the wallet holds then. Only a local chain has a treasury,
 * and it decides while the transaction is submitted: a crash can take the answer away and never leaves one that may land later.
 *
 * @throws `ERR_INVALID_REQUEST` when neither is asked for; `ERR_INSUFFICIENT_FUNDS` when the treasury has not enough.
 */
export async function fund(
  deps: EngineDeps,
  token: TokenRecord,
  flywheel: FlywheelRecord,
  input: FundInput,
): Promise<FundResult> {
  const treasury = requireTreasury(deps);
  const wallet = recipient(token, flywheel, input.to);
  const amount = input.tokens === undefined ? 0n : parseTokenAmount(input.tokens, token.decimals);
  const lamports = input.sol === undefined ? 0n : parseTokenAmount(input.sol, SOL_DECIMALS);
  if (amount === 0n && lamports === 0n) {
    throw new FlywheelError('ERR_INVALID_REQUEST', 'There is nothing to fund.', {
      hint: 'Add --tokens, --sol or both.',
    });
  }
  const instructions: Instruction[] = [];
  if (lamports > 0n) instructions.push(transfer({ from: treasury.address, to: wallet, lamports }));
  if (amount > 0n) instructions.push(...sendTokens(token, treasury.address, wallet, amount));
  // It lands whole, or nothing is charged.
  const landed = await landWhole(deps.chain, ({ blockhash }) =>
    sign([compileLegacyMessage({ payer: treasury.address, instructions, blockhash })], [treasury]),
  );
  if ('refusal' in landed) {
    throw new FlywheelError(
      'ERR_INSUFFICIENT_FUNDS',
      `The treasury ${treasury.address} cannot send this: ${landed.refusal}.`,
    );
  }
  const program = tokenProgramAddress(token.tokenProgram);
  const [account, holding] = await deps.chain.getAccounts([
    wallet,
    associatedTokenAddress(wallet, token.mintAddress, program),
  ]);
  return {
    address: wallet,
    tokens: formatTokenAmount(decodeTokenAccount(holding ?? null)?.amount ?? 0n, token.decimals),
    lamports: (account?.lamports ?? 0n).toString(),
    txHash: landed.signatures[0] ?? '',
  };
}

function recipient(token: TokenRecord, flywheel: FlywheelRecord, to: FundInput['to']): Address {
  const named: Readonly<Record<string, Address>> = {
    vault: flywheel.vault,
    'burn-wallet': token.burnWallet,
    owner: flywheel.owner,
    operator: flywheel.operator,
  };
  return named[to] ?? address(to);
}

function sendTokens(
  token: TokenRecord,
  treasury: Address,
  wallet: Address,
  amount: bigint,
): readonly Instruction[] {
  const { mintAddress: mint, decimals } = token;
  const tokenProgram = tokenProgramAddress(token.tokenProgram);
  return [
    createAssociatedTokenAccountIdempotent({ payer: treasury, owner: wallet, mint, tokenProgram }),
    transferChecked({
      mint,
      tokenProgram,
      decimals,
      amount,
      from: associatedTokenAddress(treasury, mint, tokenProgram),
      to: associatedTokenAddress(wallet, mint, tokenProgram),
      owner: treasury,
    }),
  ];
}
