/** Calls the program's checks of a batch; the only file of these tests that imports its sources. */

import type { PublicKey } from '@solana/web3.js';
import { pipelineContent, pipelineInstructions } from '../../src/actions/pipelines.js';
import { checkApprovable, messageProblem } from '../../src/approval/check-content.js';
import { checkVote as checkOneVote, checkWalletVote } from '../../src/approval/check-vote.js';
import { type Limits, outflowOf, requireWithinDay, requireWithinLimits } from '../../src/approval/limits.js';
import type { Pins as ApprovalPins } from '../../src/approval/pins.js';
import { readBatch } from '../../src/approval/read-batch.js';
import type { AccountState } from '../../src/chain/account.js';
import type { ChainReader, Simulator } from '../../src/chain/chain.js';
import { createSimulator } from '../../src/chain/local/simulator.js';
import { compile } from '../../src/chain/transaction/message.js';
import { addSignature, createKeypairSigner } from '../../src/chain/transaction/sign.js';
import { batchName } from '../../src/cli/batch/approval-source.js';
import { requireWillRun } from '../../src/cli/batch/chain-agrees.js';
import { pinnedFlywheel } from '../../src/cli/batch/pins.js';
import {
  checkApproval,
  expectedPipelines,
  type Review,
  reviewBatch,
  unitOf,
} from '../../src/cli/batch/review.js';
import { toSourcePipelines } from '../../src/cli/input/pipelines-plan.js';
import { plainStyle } from '../../src/cli/output/color.js';
import { viewLook } from '../../src/cli/views/batch-content.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import { type Address, address } from '../../src/values/address.js';
import { only } from '../support/doubles.js';
import { type Account, type Accounts, INDEX, type Pipeline, type World } from './world.js';

export interface Refused {
  readonly refused: { readonly code: string; readonly message: string };
}
/** The content of the screen before signing; amounts in base units. */
export interface Shown {
  readonly pipelines: readonly {
    readonly type: string;
    readonly hash: string;
    readonly actions: readonly object[];
  }[];
  readonly changes: object | null;
  readonly screen: string;
}

async function judged<Found>(step: () => Found | Promise<Found>): Promise<Found | Refused> {
  try {
    return await step();
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    return { refused: { code: error.code, message: error.message } };
  }
}

const stateOf = ({ owner, ...account }: Account): AccountState => ({
  ...{ ...account, owner: address(owner), executable: false },
});

/** @param chain - the accounts of the n-th reading, from 1. */
function readerOf(chain: (reading: number) => Accounts): ChainReader {
  let reading = 0;
  // An approval asks the chain for accounts alone.
  return only<ChainReader>({
    getAccounts: async (addresses) => {
      reading += 1;
      const accounts = chain(reading);
      return addresses.map((at) => {
        const found = accounts.get(at);
        return found === undefined ? null : stateOf(found);
      });
    },
  });
}

const refOf = ({ multisig }: World['pins']) => ({ multisig: address(multisig), batchIndex: INDEX });
const sourcesOf = (file: readonly Pipeline[]) =>
  toSourcePipelines(file.map((one) => ({ ...one, payload: JSON.stringify(one.payload) })) as never);

/** Shared: a run leaves no state in the machine. */
const machine = createSimulator();

/** The virtual machine, with one base unit less at an offset of an account. */
function tampered({ account, offset }: NonNullable<World['machine']>): Simulator {
  const at = account.toBase58();
  return {
    run: (before, steps) => {
      const run = machine.run(before, steps);
      const changed = (found: AccountState | null): AccountState | null => {
        if (found === null) return null;
        const data = Buffer.from(found.data as Uint8Array);
        data.writeBigUInt64LE(data.readBigUInt64LE(offset) - 1n, offset);
        return { ...found, data };
      };
      return {
        failure: run.failure,
        account: (one) => (one === at ? changed : (same: AccountState | null) => same)(run.account(one)),
      };
    },
  };
}

function shownOf(review: Review): Shown {
  const unit = unitOf({ symbol: null, trusted: null }, review);
  return {
    pipelines: (review.description.pipelines ?? []).map(({ type, proofHash, actions }) => ({
      ...{ type, hash: proofHash, actions },
    })),
    changes: review.changes,
    screen: viewLook(review, unit, plainStyle(1_000)).join('\n'),
  };
}

type Known = Pick<World, 'wire' | 'batch' | 'pins' | 'limits' | 'machine'>;

/** Judges an approval as `batch approve` does before it prompts or signs. */
export const judge = (
  chain: Accounts | ((reading: number) => Accounts),
  { wire, batch, pins, limits, machine: lie }: Known,
  file: readonly Pipeline[] | null = null,
): Promise<Shown | Refused> =>
  judged(async () => {
    const known = pins as ApprovalPins;
    const issued = {
      wire,
      batch: batchName(batch as Parameters<typeof batchName>[0]),
    };
    checkApproval(issued, known);
    const review = await reviewBatch(
      readerOf(typeof chain === 'function' ? chain : () => chain),
      { simulator: async () => (lie === null ? machine : tampered(lie)) },
      known,
      {
        batchIndex: issued.batch.batchIndex,
        expectation: file === null ? null : expectedPipelines(sourcesOf(file)),
      },
    );
    const { mint, flywheel } = review.token;
    const outflow = outflowOf(review.description.pipelines ?? []);
    const asked = { outflow, decimals: flywheel.decimals, supply: mint.supply };
    requireWithinLimits(limits as Limits, asked, 'the profile');
    requireWithinDay(limits as Limits, asked, { day: '2026-01-31', used: 0n }, 'the profile');
    return shownOf(review);
  });

/** Compares a stored message with its pipeline, whatever the message decodes to. */
export async function judgeMessage(chain: Accounts, world: World, file: readonly Pipeline[], place: number) {
  const { account, ...token } = world.token;
  const text = (key: PublicKey): Address => address(key.toBase58());
  const { transactions } = await readBatch(
    readerOf(() => chain),
    refOf(world.pins),
  );
  const [transaction, source] = [transactions[place], sourcesOf(file)[place]];
  if (transaction === undefined || source === undefined) throw new TypeError('There is no such transaction.');
  const instructions = pipelineInstructions(pipelineContent(source, token.decimals), {
    ...{ mint: text(token.mint), vault: text(token.vault), vaultTokenAccount: text(account) },
    ...{ tokenProgram: text(token.program), decimals: token.decimals },
  });
  return messageProblem(transaction.message, compile(text(token.vault), instructions));
}

/** Checks a member's permissions without an earlier reading of the project. */
export const judgeMember = (chain: Accounts, { pins }: Pick<World, 'pins'>, member: string) =>
  judged(async () => {
    checkApprovable(
      await readBatch(
        readerOf(() => chain),
        refOf(pins),
      ),
      address(member),
    );
    return { member };
  });

export const judgeVote = ({ wire, batch, pins }: Pick<World, 'wire' | 'batch' | 'pins'>) =>
  judged(() => {
    const { multisig, owner, operator } = pins as ApprovalPins;
    const expected = {
      kind: 'approve',
      multisig,
      batchIndex: BigInt(batch.batchIndex),
      member: owner,
    } as const;
    const { feePayer, priorityFeeLamports, missingSignatures, version } = checkOneVote(wire, {
      ...{ ...expected, feePayers: [operator, owner] },
    });
    return { feePayer, priorityFeeLamports, missingSignatures, version };
  });

export const judgeWallet = (
  wire: Uint8Array,
  given: { readonly multisig: string; readonly owner: string; readonly blockhash: string },
) =>
  judged(() => {
    const [multisig, owner] = [address(given.multisig), address(given.owner)];
    const { signature, priorityFeeLamports, assertions } = checkWalletVote(wire, {
      ...{ multisig, owner, batchIndex: INDEX, blockhashes: new Set([given.blockhash]) },
    });
    return { signature, priorityFeeLamports, assertions };
  });

export const sign = (wire: Uint8Array, secret: Uint8Array) =>
  judged(async () => ({ wire: await addSignature(wire, createKeypairSigner(secret)) }));

/** Just before the execution: whether the chain still has what was judged. */
export const isUnchanged = async (before: Accounts, now: Accounts, pins: World['pins']): Promise<boolean> => {
  const { digest } = await readBatch(
    readerOf(() => before),
    refOf(pins),
  );
  const known = pins as ApprovalPins;
  const opened = { chain: readerOf(() => now), pins: known, trusted: async () => pinnedFlywheel(known) };
  const batch = { id: 'b-1' as never, batchIndex: String(INDEX) };
  const found = await judged(() => requireWillRun(opened, batch, digest, false));
  return found === undefined;
};
