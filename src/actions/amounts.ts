/** Fields and checks shared by the instructions that move tokens: amount, decimals and accounts. */

import type { VaultToken } from '../chain/chain.js';
import { tryDecode } from '../chain/codec.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.js';
import { amountData } from '../chain/tokens/instructions.js';
import type { Instruction } from '../chain/transaction/message.js';
import type { Address } from '../values/address.js';
import { type UnknownInstruction, unknownInstruction } from './action.js';

export interface TokenAmount {
  readonly tokenProgram: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly decimals: number;
}

const AMOUNT_DATA_LENGTH_BYTES = 10;

export const isTokenInstruction = ({ program, data }: Instruction, number: number): boolean =>
  (program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM) && data[0] === number;

export function decodeAmount(
  { program, accounts, data }: Instruction,
  accountCount: number,
):
  | { amount: bigint; decimals: number; tokenProgram: Address; accounts: readonly Address[] }
  | UnknownInstruction {
  const decoded = data.length === AMOUNT_DATA_LENGTH_BYTES ? tryDecode(amountData, data) : undefined;
  if (decoded === undefined) {
    const reason = `the token instruction has ${data.length} bytes of data, expected ${AMOUNT_DATA_LENGTH_BYTES}`;
    return unknownInstruction(program, reason);
  }
  if (accounts.length !== accountCount) {
    const reason = `the token instruction names ${accounts.length} accounts, which is not the plain form`;
    return unknownInstruction(program, reason);
  }
  return {
    ...{ amount: decoded.amount, decimals: decoded.decimals },
    tokenProgram: program,
    accounts: accounts.map(({ address }) => address),
  };
}

export const differs = (what: string, actual: Address | undefined, expected: Address): string | undefined =>
  actual === undefined || actual === expected ? undefined : `${what} ${actual}, expected ${expected}`;

export const tokenProblem = (
  decoded: Pick<TokenAmount, 'tokenProgram' | 'mint'>,
  token: VaultToken,
): string | undefined =>
  differs('the token program is', decoded.tokenProgram, token.tokenProgram) ??
  differs('the mint is', decoded.mint, token.mint);

export function amountProblem(decoded: TokenAmount, token: VaultToken): string | undefined {
  const problem =
    tokenProblem(decoded, token) ?? differs('the account is that of', decoded.owner, token.vault);
  if (problem !== undefined || decoded.decimals === token.decimals) return problem;
  return `the amount has ${decoded.decimals} decimals, the mint has ${token.decimals}`;
}
