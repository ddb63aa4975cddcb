/** Blockhash, compute budget and priority fee of a transaction. Without priority fees transactions stay unchanged. */
import { LAMPORTS_PER_SIGNATURE } from '../chain/account.js';
import type { Chain, RecentBlockhash } from '../chain/chain.js';
import { MEMO_PROGRAM, SQUADS_PROGRAM } from '../chain/programs.js';
import { budgetIn, setComputeUnitLimit, setComputeUnitPrice } from '../chain/small-programs.js';
import { type InstructionName, instructionName } from '../chain/squads/instructions.js';
import type { Instruction } from '../chain/transaction/message.js';
import {
  DEFAULT_INSTRUCTION_COMPUTE_UNITS,
  MAX_COMPUTE_UNITS,
  MICRO_LAMPORTS_PER_LAMPORT,
} from '../chain/transaction/message.js';
import { compileLegacyMessage } from '../chain/transaction/wire.js';
import type { Address } from '../values/address.js';

interface Priority {
  readonly microLamports: bigint;
  readonly maxLamports: bigint;
}

export interface SigningTerms extends RecentBlockhash {
  readonly priority?: Priority;
  /** Units that the sample used on a node, with headroom. */
  readonly units?: number;
}

interface Sample {
  readonly payer: Address;
  readonly instructions: readonly Instruction[];
}

/** Well above the highest measured (squads-v4.md, section 10): an address search can take about 20,000 units more. */
const CEILINGS: Partial<Readonly<Record<InstructionName, number>>> = {
  batchCreate: 60_000,
  proposalCreate: 45_000,
  batchAddTransaction: 150_000,
  proposalActivate: 25_000,
  proposalApprove: 30_000,
  proposalReject: 30_000,
  proposalCancelV2: 30_000,
  vaultBatchTransactionAccountClose: 40_000,
  batchAccountsClose: 40_000,
};
const MEMO_UNITS = 15_000;
const HEADROOM = { part: 1.2, units: 10_000 } as const;

function isBudget(instruction: Instruction): boolean {
  const { computeUnits, microLamports } = budgetIn(instruction);
  return computeUnits !== undefined || microLamports !== undefined;
}

function ceilingOf({ program, data }: Instruction): number {
  if (program === MEMO_PROGRAM) return MEMO_UNITS;
  const name = program === SQUADS_PROGRAM ? instructionName(data) : undefined;
  return (name === undefined ? undefined : CEILINGS[name]) ?? DEFAULT_INSTRUCTION_COMPUTE_UNITS;
}

function unitsOf(instructions: readonly Instruction[]): number {
  const asked = instructions.map((one) => budgetIn(one).computeUnits).find((units) => units !== undefined);
  if (asked !== undefined) return asked;
  return Math.min(
    MAX_COMPUTE_UNITS,
    instructions.reduce((sum, one) => sum + ceilingOf(one), 0),
  );
}

const writtenBy = ({ payer, instructions }: Sample): readonly Address[] => [
  payer,
  ...instructions.flatMap(({ accounts }) => accounts.flatMap((one) => (one.writable ? [one.address] : []))),
];

/** Executions are not simulated: closing a recipient's account afterwards makes them cost more units than simulated. */
const isExecution = ({ program, data }: Instruction): boolean =>
  program === SQUADS_PROGRAM && instructionName(data) === 'batchExecuteTransaction';

async function triedUnits(chain: Chain, sample: Sample, blockhash: string): Promise<number | null> {
  if (sample.instructions.some(isExecution)) return null;
  const instructions = [
    setComputeUnitLimit(MAX_COMPUTE_UNITS),
    ...sample.instructions.filter((one) => !isBudget(one)),
  ];
  const message = compileLegacyMessage({ payer: sample.payer, instructions, blockhash });
  const used = (await chain.fees?.computeUnitsOf(message)) ?? null;
  return used === null ? null : Math.min(MAX_COMPUTE_UNITS, Math.ceil(used * HEADROOM.part) + HEADROOM.units);
}

export async function signingTerms(chain: Chain, sample: Sample): Promise<SigningTerms> {
  const { fees } = chain;
  if (fees === null) return chain.latestBlockhash();
  const [recent, microLamports] = await Promise.all([
    chain.latestBlockhash(),
    fees.priceOf(writtenBy(sample)),
  ]);
  const units = await triedUnits(chain, sample, recent.blockhash);
  return {
    ...recent,
    priority: { microLamports, maxLamports: fees.maxLamports },
    ...(units !== null && { units }),
  };
}

const priceWithin = ({ microLamports, maxLamports }: Priority, units: number): bigint => {
  const highest = (maxLamports * MICRO_LAMPORTS_PER_LAMPORT) / BigInt(units);
  return microLamports < highest ? microLamports : highest;
};

export function budgetFor(priority: Priority, units: number): readonly Instruction[] {
  const price = priceWithin(priority, units);
  return [setComputeUnitLimit(units), ...(price === 0n ? [] : [setComputeUnitPrice(price)])];
}

export function withBudget(
  instructions: readonly Instruction[],
  { priority }: SigningTerms,
  units = unitsOf(instructions),
): readonly Instruction[] {
  if (priority === undefined) return instructions;
  return [...budgetFor(priority, units), ...instructions.filter((one) => !isBudget(one))];
}

export const maxFeeLamports = ({ fees }: Chain): bigint => LAMPORTS_PER_SIGNATURE + (fees?.maxLamports ?? 0n);
