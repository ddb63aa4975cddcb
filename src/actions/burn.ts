/** BURN: burns tokens of the vault. */
import * as z from 'zod';
import { burnChecked, TOKEN_INSTRUCTION } from '../chain/tokens/instructions.js';
import type { Address } from '../values/address.js';
import { amountSchema } from '../values/schemas.js';
import { tokenAmountFromNumber } from '../values/token-amount.js';
import type { ActionKind, AnyInstruction, InstructionKind } from './action.js';
import { amountProblem, decodeAmount, differs, isTokenInstruction, type TokenAmount } from './amounts.js';

const schema = z.strictObject({ action: z.literal('BURN'), amount: amountSchema });
type BurnSource = z.infer<typeof schema>;

interface BurnContent {
  readonly action: 'BURN';
  readonly amount: bigint;
}

interface BurnInstruction extends TokenAmount {
  readonly kind: 'burn';
  readonly account: Address;
}

const burnInstruction: InstructionKind<BurnInstruction> = {
  kind: 'burn',
  matches: (instruction) => isTokenInstruction(instruction, TOKEN_INSTRUCTION.burnChecked),
  decode: (instruction) => {
    const decoded = decodeAmount(instruction, 3);
    if ('kind' in decoded) return decoded;
    const { accounts, tokenProgram, amount, decimals } = decoded;
    const [account, mint, owner] = accounts as [Address, Address, Address];
    return { kind: 'burn', tokenProgram, amount, decimals, account, mint, owner };
  },
  problem: (decoded, token) =>
    differs('the burn is from the account', decoded.account, token.vaultTokenAccount) ??
    amountProblem(decoded, token),
  cost: { computeUnits: 12_000, measuredUnits: 6_400, trace: 1, heapShare: 1 / 25 },
};

const isBurn = (decoded: AnyInstruction | undefined): decoded is BurnInstruction => decoded?.kind === 'burn';

export const burnAction = {
  schema,
  usage: 'burn',
  content: ({ amount }: BurnSource, decimals: number): BurnContent => ({
    action: 'BURN',
    amount: tokenAmountFromNumber(amount, decimals),
  }),
  warning: () => undefined,
  recipients: () => [],
  instructions: ({ amount }, { vault, vaultTokenAccount, ...token }) => [
    burnChecked({ ...token, owner: vault, account: vaultTokenAccount, amount }),
  ],
  changes: ({ amount }, { vaultTokenAccount }) => [{ account: vaultTokenAccount, amount: -amount }],
  kinds: [burnInstruction],
  read: ([first]) =>
    isBurn(first) ? { action: { action: 'BURN', amount: first.amount }, length: 1 } : undefined,
  text: ({ amount }) => `burn ${amount}`,
} satisfies ActionKind<BurnSource, BurnContent>;
