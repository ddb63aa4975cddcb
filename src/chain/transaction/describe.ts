/** What an instruction does, in the terms of somebody who approves it; whether that is allowed is decided elsewhere. */
import type { Address } from '../../values/address.js';
import { readBuffer, viewOf } from '../../values/bytes.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../programs.js';
import { associatedTokenAddress } from '../tokens/addresses.js';
import { CREATE_IDEMPOTENT, TOKEN_INSTRUCTION } from '../tokens/instructions.js';
import type { Instruction } from './instruction.js';

/** One of the four kinds a batch may hold; amounts in base units. */
export type KnownOperation =
  | { readonly kind: 'memo'; readonly text: string; readonly signers: readonly Address[] }
  | {
      readonly kind: 'burn';
      readonly tokenProgram: Address;
      readonly account: Address;
      readonly mint: Address;
      /** Who signs for the account. */
      readonly owner: Address;
      readonly amount: bigint;
      readonly decimals: number;
    }
  | {
      readonly kind: 'transfer';
      readonly tokenProgram: Address;
      readonly from: Address;
      readonly mint: Address;
      readonly to: Address;
      /** Who signs for the account `from`. */
      readonly owner: Address;
      readonly amount: bigint;
      readonly decimals: number;
    }
  | {
      readonly kind: 'createTokenAccount';
      readonly tokenProgram: Address;
      readonly payer: Address;
      readonly account: Address;
      /** The wallet that the account will belong to. */
      readonly owner: Address;
      readonly mint: Address;
    };

/** What an instruction does, or why it is none of the known kinds. */
export type Operation =
  | KnownOperation
  | { readonly kind: 'unknown'; readonly program: Address; readonly reason: string };

/** Names of the other token instructions, for refusals that say what was met (spl-token-interface, `TokenInstruction`). */
const TOKEN_INSTRUCTION_NAMES: Readonly<Record<number, string>> = {
  0: 'InitializeMint',
  1: 'InitializeAccount',
  3: 'Transfer (unchecked)',
  4: 'Approve',
  5: 'Revoke',
  6: 'SetAuthority',
  7: 'MintTo',
  8: 'Burn (unchecked)',
  9: 'CloseAccount',
  10: 'FreezeAccount',
  11: 'ThawAccount',
  13: 'ApproveChecked',
  14: 'MintToChecked',
  17: 'SyncNative',
};
const AMOUNT_DATA_LENGTH_BYTES = 10;

const unknown = (program: Address, reason: string): Operation => ({ kind: 'unknown', program, reason });

/**
 * Decodes an instruction strictly: exact data length, exact number of accounts, re-derived addresses. Anything that
 * differs in the least is `unknown` with its reason.
 */
export function describeInstruction(instruction: Instruction): Operation {
  switch (instruction.program) {
    case MEMO_PROGRAM:
      return describeMemo(instruction);
    case TOKEN_PROGRAM:
    case TOKEN_2022_PROGRAM:
      return describeToken(instruction);
    case ASSOCIATED_TOKEN_PROGRAM:
      return describeCreate(instruction);
    default:
      return unknown(
        instruction.program,
        `the program ${instruction.program} is not one that a batch may call`,
      );
  }
}

function describeMemo({ program, accounts, data }: Instruction): Operation {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readBuffer(data));
    return { kind: 'memo', text, signers: accounts.map(({ address }) => address) };
  } catch {
    return unknown(program, 'the memo is not UTF-8 text');
  }
}

function describeToken({ program, accounts, data }: Instruction): Operation {
  const number = data[0];
  if (number !== TOKEN_INSTRUCTION.burnChecked && number !== TOKEN_INSTRUCTION.transferChecked) {
    const name =
      number === undefined ? 'without data' : (TOKEN_INSTRUCTION_NAMES[number] ?? `number ${number}`);
    return unknown(program, `the token instruction ${name} is neither BurnChecked nor TransferChecked`);
  }
  if (data.length !== AMOUNT_DATA_LENGTH_BYTES) {
    return unknown(
      program,
      `the token instruction has ${data.length} bytes of data instead of ${AMOUNT_DATA_LENGTH_BYTES}`,
    );
  }
  const view = viewOf(data);
  const amounts = { tokenProgram: program, amount: view.getBigUint64(1, true), decimals: view.getUint8(9) };
  const [first, second, third, fourth, ...rest] = accounts.map(({ address }) => address);
  if (number === TOKEN_INSTRUCTION.burnChecked) {
    if (first && second && third && accounts.length === 3)
      return { kind: 'burn', ...amounts, account: first, mint: second, owner: third };
  } else if (first && second && third && fourth && rest.length === 0) {
    return { kind: 'transfer', ...amounts, from: first, mint: second, to: third, owner: fourth };
  }
  return unknown(
    program,
    `the token instruction names ${accounts.length} accounts, which is not the plain form`,
  );
}

function describeCreate({ program, accounts, data }: Instruction): Operation {
  if (data.length !== 1 || data[0] !== CREATE_IDEMPOTENT) {
    return unknown(program, 'the associated-token instruction is not the idempotent creation of an account');
  }
  const [payer, account, owner, mint, system, tokenProgram, ...rest] = accounts.map(({ address }) => address);
  if (!payer || !account || !owner || !mint || !system || !tokenProgram || rest.length > 0) {
    return unknown(program, `the creation of a token account names ${accounts.length} accounts instead of 6`);
  }
  if (system !== SYSTEM_PROGRAM || (tokenProgram !== TOKEN_PROGRAM && tokenProgram !== TOKEN_2022_PROGRAM)) {
    return unknown(program, 'the creation of a token account names other programs than it should');
  }
  if (associatedTokenAddress(owner, mint, tokenProgram) !== account) {
    return unknown(program, `${account} is not the associated token account of ${owner}`);
  }
  return { kind: 'createTokenAccount', tokenProgram, payer, account, owner, mint };
}
