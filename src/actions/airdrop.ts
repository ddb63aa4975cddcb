/** AIRDROP: sends vault tokens to a wallet, and creates its token account if there is none. */
import * as z from 'zod';
import * as programs from '../chain/programs.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../chain/programs.js';
import { associatedTokenAddress, isOnCurve } from '../chain/squads/addresses.js';
import {
  CREATE_IDEMPOTENT,
  createAssociatedTokenAccountIdempotent,
  TOKEN_INSTRUCTION,
  transferChecked,
} from '../chain/tokens/instructions.js';
import type { Instruction } from '../chain/transaction/message.js';
import { type Address, address } from '../values/address.js';
import { addressSchema, amountSchema } from '../values/schemas.js';
import { tokenAmountFromNumber } from '../values/token-amount.js';
import {
  type ActionKind,
  type AnyInstruction,
  type InstructionKind,
  type UnknownInstruction,
  unknownInstruction,
} from './action.js';
import {
  amountProblem,
  decodeAmount,
  differs,
  isTokenInstruction,
  type TokenAmount,
  tokenProblem,
} from './amounts.js';

const schema = z.strictObject({
  action: z.literal('AIRDROP'),
  toAddress: addressSchema,
  amount: amountSchema,
});
type AirdropSource = z.infer<typeof schema>;

interface AirdropContent {
  readonly action: 'AIRDROP';
  /** The wallet, not its token account. */
  readonly toAddress: Address;
  readonly amount: bigint;
}

interface CreateTokenAccountInstruction {
  readonly kind: 'createTokenAccount';
  readonly tokenProgram: Address;
  readonly payer: Address;
  readonly account: Address;
  readonly owner: Address;
  readonly mint: Address;
}

interface TransferInstruction extends TokenAmount {
  readonly kind: 'transfer';
  readonly from: Address;
  readonly to: Address;
}

/** Some program addresses are on the curve, so a key could own them. */
const PROGRAMS: ReadonlySet<unknown> = new Set(Object.values(programs));

const createInstruction: InstructionKind<CreateTokenAccountInstruction> = {
  kind: 'createTokenAccount',
  matches: ({ program }) => program === ASSOCIATED_TOKEN_PROGRAM,
  decode: decodeCreate,
  problem: (decoded, token) =>
    tokenProblem(decoded, token) ?? differs('the new token account is paid by', decoded.payer, token.vault),
  // Includes 20,000 units for a long search of the account's address.
  cost: { computeUnits: 65_000, measuredUnits: 24_000, trace: 5, heapShare: 1 / 8 - 1 / 17 },
};

function decodeCreate({
  program,
  accounts,
  data,
}: Instruction): CreateTokenAccountInstruction | UnknownInstruction {
  const unknown = (reason: string): UnknownInstruction => unknownInstruction(program, reason);
  if (data.length !== 1 || data[0] !== CREATE_IDEMPOTENT)
    return unknown('the associated-token instruction is not idempotent');
  const [payer, account, owner, mint, system, tokenProgram, ...rest] = accounts.map(({ address: at }) => at);
  if (!payer || !account || !owner || !mint || !system || !tokenProgram || rest.length > 0)
    return unknown(`the creation of a token account has ${accounts.length} accounts, expected 6`);
  if (system !== SYSTEM_PROGRAM || (tokenProgram !== TOKEN_PROGRAM && tokenProgram !== TOKEN_2022_PROGRAM))
    return unknown('the creation of a token account has wrong programs');
  if (associatedTokenAddress(owner, mint, tokenProgram) !== account)
    return unknown(`${account} is not the associated token account of ${owner}`);
  return { kind: 'createTokenAccount', tokenProgram, payer, account, owner, mint };
}

const transferInstruction: InstructionKind<TransferInstruction> = {
  kind: 'transfer',
  matches: (instruction) => isTokenInstruction(instruction, TOKEN_INSTRUCTION.transferChecked),
  decode: (instruction) => {
    const decoded = decodeAmount(instruction, 4);
    if ('kind' in decoded) return decoded;
    const { accounts, tokenProgram, amount, decimals } = decoded;
    const [from, mint, to, owner] = accounts as [Address, Address, Address, Address];
    return { kind: 'transfer', tokenProgram, amount, decimals, from, mint, to, owner };
  },
  problem: (decoded, token) =>
    differs('the transfer is from the account', decoded.from, token.vaultTokenAccount) ??
    amountProblem(decoded, token),
  cost: { computeUnits: 13_000, measuredUnits: 6_500, trace: 1, heapShare: 1 / 17 },
};

const isCreate = (decoded: AnyInstruction | undefined): decoded is CreateTokenAccountInstruction =>
  decoded?.kind === 'createTokenAccount';
const isTransfer = (decoded: AnyInstruction | undefined): decoded is TransferInstruction =>
  decoded?.kind === 'transfer';

export const airdropAction = {
  schema,
  usage: 'airdrop',
  content: ({ toAddress, amount }: AirdropSource, decimals: number): AirdropContent => ({
    action: 'AIRDROP',
    toAddress: address(toAddress),
    amount: tokenAmountFromNumber(amount, decimals),
  }),
  warning: ({ toAddress }, mint) => {
    const what =
      toAddress === mint ? 'the mint of the project' : PROGRAMS.has(toAddress) ? 'a program' : null;
    if (what !== null) return `tokens sent to ${what} are lost`;
    return isOnCurve(toAddress)
      ? undefined
      : 'tokens sent to an address off the curve could be lost, because no key exists for it';
  },
  recipients: ({ toAddress }) => [toAddress],
  instructions: ({ toAddress, amount }, { vault, vaultTokenAccount, ...token }) => {
    const { mint, tokenProgram } = token;
    const to = associatedTokenAddress(toAddress, mint, tokenProgram);
    return [
      createAssociatedTokenAccountIdempotent({ payer: vault, owner: toAddress, mint, tokenProgram }),
      transferChecked({ ...token, owner: vault, from: vaultTokenAccount, to, amount }),
    ];
  },
  changes: ({ toAddress, amount }, { vaultTokenAccount, mint, tokenProgram }) => [
    { account: vaultTokenAccount, amount: -amount },
    { account: associatedTokenAddress(toAddress, mint, tokenProgram), amount },
  ],
  kinds: [createInstruction, transferInstruction],
  read: ([first, second]) => {
    if (isTransfer(first))
      return `a transfer to ${first.to} has no instruction before it that creates the token account`;
    if (!isCreate(first)) return undefined;
    if (!isTransfer(second) || second.to !== first.account)
      return `the creation of a token account of ${first.owner} lacks the transfer to it`;
    return { action: { action: 'AIRDROP', toAddress: first.owner, amount: second.amount }, length: 2 };
  },
  text: ({ amount, toAddress }) => `airdrop ${amount} to ${toAddress}`,
} satisfies ActionKind<AirdropSource, AirdropContent>;
