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
  transferChecked: 12,
  mintToChecked: 14,
  burnChecked: 15,
  initializeMint2: 20,
} as const;

/** First byte of the data of the idempotent creation (spl-associated-token-account-interface). */
export const CREATE_IDEMPOTENT = 1;

/** Authority numbers of the program. */
const AUTHORITY_TYPE = { mintTokens: 0, freezeAccount: 1, accountOwner: 2, closeAccount: 3 } as const;
type AuthorityType = keyof typeof AUTHORITY_TYPE;

interface TokenInput {
  readonly mint: Address;
  /** Base units. */
  readonly amount: bigint;
  /** Decimals of the mint; the program refuses a mismatch. */
  readonly decimals: number;
  readonly tokenProgram: Address;
}

const amountData = struct({ number: u8, amount: u64, decimals: u8 });

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

const authorityData = struct({ number: u8, type: u8, newAuthority: option(key) });

/** Transfers an authority to another key; `null` removes the authority for ever. */
export const setAuthority = (input: {
  readonly account: Address;
  readonly currentAuthority: Address;
  readonly type: AuthorityType;
  readonly newAuthority: Address | null;
  readonly tokenProgram: Address;
}): Instruction => ({
  program: input.tokenProgram,
  accounts: [writableAccount(input.account), readonlySigner(input.currentAuthority)],
  data: encode(authorityData, {
    number: TOKEN_INSTRUCTION.setAuthority,
    type: AUTHORITY_TYPE[input.type],
    newAuthority: input.newAuthority,
  }),
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
