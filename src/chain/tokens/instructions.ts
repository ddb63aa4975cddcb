/** Instructions of the two token programs and of the associated-token program; which token program is meant is always given. */
import { type Address, addressBytes } from '../../values/address.js';
import { readBuffer } from '../../values/bytes.js';
import { ASSOCIATED_TOKEN_PROGRAM, SYSTEM_PROGRAM } from '../programs.js';
import { associatedTokenAddress } from '../squads/addresses.js';
import {
  type Instruction,
  readonlyAccount,
  readonlySigner,
  writableAccount,
  writableSigner,
} from '../transaction/instruction.js';

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

/** Who may change a mint or token account, by the program's number. */
const AUTHORITY_TYPE = { mintTokens: 0, freezeAccount: 1, accountOwner: 2, closeAccount: 3 } as const;
/** A right over a mint or token account. */
export type AuthorityType = keyof typeof AUTHORITY_TYPE;

interface TokenInput {
  readonly mint: Address;
  /** Base units. */
  readonly amount: bigint;
  /** Of the mint; the program refuses the instruction if it has others. */
  readonly decimals: number;
  readonly tokenProgram: Address;
}

/** Number, amount u64, decimals u8. */
function amountData(number: number, { amount, decimals }: TokenInput): Uint8Array {
  const data = Buffer.alloc(10);
  data[0] = number;
  data.writeBigUInt64LE(amount, 1);
  data[9] = decimals;
  return data;
}

/** What {@link burnChecked} burns. */
interface BurnInput extends TokenInput {
  readonly account: Address;
  /** Owner of the account; signs. */
  readonly owner: Address;
}

/** Burns from a token account, stating mint and decimals. */
export const burnChecked = (input: BurnInput): Instruction => ({
  program: input.tokenProgram,
  accounts: [writableAccount(input.account), writableAccount(input.mint), readonlySigner(input.owner)],
  data: amountData(TOKEN_INSTRUCTION.burnChecked, input),
});

/** What {@link transferChecked} moves. */
interface TransferInput extends TokenInput {
  readonly from: Address;
  /** A token account, not a wallet. */
  readonly to: Address;
  /** Owner of the account `from`; signs. */
  readonly owner: Address;
}

/** Moves tokens between two token accounts, stating mint and decimals. */
export const transferChecked = (input: TransferInput): Instruction => ({
  program: input.tokenProgram,
  accounts: [
    writableAccount(input.from),
    readonlyAccount(input.mint),
    writableAccount(input.to),
    readonlySigner(input.owner),
  ],
  data: amountData(TOKEN_INSTRUCTION.transferChecked, input),
});

/** What {@link mintToChecked} mints. */
interface MintToInput extends TokenInput {
  readonly to: Address;
  /** The mint authority; signs. */
  readonly authority: Address;
}

/** Mints new tokens into a token account. */
export const mintToChecked = (input: MintToInput): Instruction => ({
  program: input.tokenProgram,
  accounts: [writableAccount(input.mint), writableAccount(input.to), readonlySigner(input.authority)],
  data: amountData(TOKEN_INSTRUCTION.mintToChecked, input),
});

const optionalKey = (key: Address | null): Uint8Array =>
  key === null ? Uint8Array.of(0) : Buffer.concat([Uint8Array.of(1), readBuffer(addressBytes(key))]);

/** What {@link initializeMint2} sets up. */
interface InitializeMintInput {
  readonly mint: Address;
  readonly decimals: number;
  readonly mintAuthority: Address;
  readonly freezeAuthority: Address | null;
  readonly tokenProgram: Address;
}

/** Makes a mint of an account that the token program owns. */
export const initializeMint2 = (input: InitializeMintInput): Instruction => ({
  program: input.tokenProgram,
  accounts: [writableAccount(input.mint)],
  data: Buffer.concat([
    Uint8Array.of(TOKEN_INSTRUCTION.initializeMint2, input.decimals),
    readBuffer(addressBytes(input.mintAuthority)),
    optionalKey(input.freezeAuthority),
  ]),
});

/** What {@link setAuthority} changes. */
interface SetAuthorityInput {
  /** A mint or a token account. */
  readonly account: Address;
  readonly currentAuthority: Address;
  readonly type: AuthorityType;
  /** `null` gives the right up for ever. */
  readonly newAuthority: Address | null;
  readonly tokenProgram: Address;
}

/** Hands a right over a mint or token account to another key, or gives it up. */
export const setAuthority = (input: SetAuthorityInput): Instruction => ({
  program: input.tokenProgram,
  accounts: [writableAccount(input.account), readonlySigner(input.currentAuthority)],
  data: Buffer.concat([
    Uint8Array.of(TOKEN_INSTRUCTION.setAuthority, AUTHORITY_TYPE[input.type]),
    optionalKey(input.newAuthority),
  ]),
});

/** What {@link createAssociatedTokenAccountIdempotent} opens. */
interface CreateTokenAccountInput {
  /** Pays the rent; signs. */
  readonly payer: Address;
  readonly owner: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
}

/** Opens the associated token account of a wallet; does nothing if it is already there. */
export const createAssociatedTokenAccountIdempotent = (input: CreateTokenAccountInput): Instruction => ({
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
