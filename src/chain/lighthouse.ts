/**
 * Instructions of Lighthouse, the program with which wallets make a transaction fail unless accounts are afterwards as they
 * showed. What an assertion states is not decoded: the worst that it can do is to fail.
 */
import { LIGHTHOUSE_PROGRAM } from './programs.js';
import type { Instruction } from './transaction/instruction.js';

/** How many accounts an assertion reads; `null`: it writes, or calls another program. */
type Reads = number | null;

/** By number, which is the first byte (github.com/Jac0xb/lighthouse, `programs/lighthouse/src/instruction.rs` at 4c57947). */
const INSTRUCTIONS: readonly (readonly [string, Reads])[] = [
  ['MemoryWrite', null],
  ['MemoryClose', null],
  ['AssertAccountData', 1],
  ['AssertAccountDataMulti', 1],
  ['AssertAccountDelta', 2],
  ['AssertAccountInfo', 1],
  ['AssertAccountInfoMulti', 1],
  ['AssertMintAccount', 1],
  ['AssertMintAccountMulti', 1],
  ['AssertTokenAccount', 1],
  ['AssertTokenAccountMulti', 1],
  ['AssertStakeAccount', 1],
  ['AssertStakeAccountMulti', 1],
  ['AssertUpgradeableLoaderAccount', 1],
  ['AssertUpgradeableLoaderAccountMulti', 1],
  ['AssertSysvarClock', 0],
  ['AssertMerkleTreeAccount', null],
  ['AssertBubblegumTreeConfigAccount', 1],
];

/** An instruction of Lighthouse: what it is called, and whether it only reads exactly the accounts that it is given. */
interface LighthouseInstruction {
  readonly name: string;
  readonly onlyAsserts: boolean;
}

/** The instruction, or `undefined` where it is of another program. */
export function decodeLighthouse({
  program,
  accounts,
  data,
}: Instruction): LighthouseInstruction | undefined {
  if (program !== LIGHTHOUSE_PROGRAM) return undefined;
  const [name, reads] = INSTRUCTIONS[data[0] ?? -1] ?? ['an instruction of an unknown number', null];
  return { name, onlyAsserts: reads !== null && accounts.length === reads };
}
