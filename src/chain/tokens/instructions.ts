/** Instructions of the two token programs and the associated-token program; the caller always names the token program. */
import type { Address } from '../../values/address.js';
import { encode, key, option, struct, u8, u64 } from '../codec.js';
import { ASSOCIATED_TOKEN_PROGRAM, SYSTEM_PROGRAM } from '../programs.js';
import { associatedTokenAddress } from '../squads/addresses.js';
import {
  type AccountMeta,
  type Instruction,
  readonlyAccount,
  readonlySigner,
  writableAccount,
  writableSigner,
} from '../transaction/message.js';

/** First byte of the data (spl-token-interface, `TokenInstruction`). */
export const TOKEN_INSTRUCTION = {
  setAuthority: 6,
  burn: 8,
  transferChecked: 12,
  mintToChecked: 14,
  burnChecked: 15,
  initializeMint2: 20,
} as const;

/** First byte of the data of the idempotent creation (spl-associated-token-account-interface). */
export const CREATE_IDEMPOTENT = 1;

interface TokenInput {
  readonly mint: Address;
  /** Base units. */
  readonly amount: bigint;
  /** Decimals of the mint; the program refuses a mismatch. */
  readonly decimals: number;
  readonly tokenProgram: Address;
}

/** Data of burnChecked, transferChecked and mintToChecked. */
export const amountData = struct({ number: u8, amount: u64, decimals: u8 });

const withAmount = (
  number: number,
  { tokenProgram, amount, decimals }: TokenInput,
  accounts: readonly AccountMeta[],
): Instruction => ({
  program: tokenProgram,
  accounts,
  data: encode(amountData, { number, amount, decimals }),
});

export const burnChecked = (
  input: TokenInput & { readonly account: Address; readonly owner: Address },
): Instruction =>
  withAmount(TOKEN_INSTRUCTION.burnChecked, input, [
    writableAccount(input.account),
    writableAccount(input.mint),
    readonlySigner(input.owner),
  ]);

export const transferChecked = (
  input: TokenInput & { readonly from: Address; readonly to: Address; readonly owner: Address },
): Instruction =>
  withAmount(TOKEN_INSTRUCTION.transferChecked, input, [
    writableAccount(input.from),
    readonlyAccount(input.mint),
    writableAccount(input.to),
    readonlySigner(input.owner),
  ]);

export const mintToChecked = (
  input: TokenInput & { readonly to: Address; readonly authority: Address },
): Instruction =>
  withAmount(TOKEN_INSTRUCTION.mintToChecked, input, [
    writableAccount(input.mint),
    writableAccount(input.to),
    readonlySigner(input.authority),
  ]);

const mintData = struct({ number: u8, decimals: u8, mintAuthority: key, freezeAuthority: option(key) });

export const initializeMint2 = ({
  mint,
  tokenProgram,
  ...terms
}: {
  readonly mint: Address;
  readonly decimals: number;
  readonly mintAuthority: Address;
  readonly freezeAuthority: Address | null;
  readonly tokenProgram: Address;
}): Instruction => ({
  program: tokenProgram,
  accounts: [writableAccount(mint)],
  data: encode(mintData, { number: TOKEN_INSTRUCTION.initializeMint2, ...terms }),
});

/** Number of the authority to mint, and the mark of no new authority. */
const [MINT_TOKENS, NOBODY] = [0, 0];

/** Nobody can ever mint again. */
export const removeMintAuthority = (input: {
  readonly mint: Address;
  readonly mintAuthority: Address;
  readonly tokenProgram: Address;
}): Instruction => ({
  program: input.tokenProgram,
  accounts: [writableAccount(input.mint), readonlySigner(input.mintAuthority)],
  data: Uint8Array.of(TOKEN_INSTRUCTION.setAuthority, MINT_TOKENS, NOBODY),
});

/** Creates the associated token account of a wallet unless it exists; `payer` signs. */
export const createAssociatedTokenAccountIdempotent = (input: {
  readonly payer: Address;
  readonly owner: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
}): Instruction => ({
  program: ASSOCIATED_TOKEN_PROGRAM,
  accounts: [
    writableSigner(input.payer),
    writableAccount(associatedTokenAddress(input.owner, input.mint, input.tokenProgram)),
    readonlyAccount(input.owner),
    readonlyAccount(input.mint),
    readonlyAccount(SYSTEM_PROGRAM),
    readonlyAccount(input.tokenProgram),
  ],
  data: Uint8Array.of(CREATE_IDEMPOTENT),
});
