/**
 * Brings onto the chain what a registration still lacks, once: what is there is looked up first, what is sent is kept before, and
 * it is done when the final state has all of it.
 */
import { setTimeout } from 'node:timers/promises';
import { driftOf, type Facts } from '../approval/pins.js';
import type { Chain, ChainReader, Finality, TransactionRecord } from '../chain/chain.js';
import { multisigCreateV2 } from '../chain/squads/builders.js';
import { createAssociatedTokenAccountIdempotent } from '../chain/tokens/instructions.js';
import { compileLegacyMessage, requestSignatures } from '../chain/transaction/compile.js';
import type { Instruction } from '../chain/transaction/instruction.js';
import type { Signer } from '../chain/transaction/signer.js';
import type { Lease } from '../engine/lease.js';
import type { Unit } from '../engine/settle/fate.js';
import { settle } from '../engine/settle/settle.js';
import { signingTerms, withBudget } from '../engine/signing-terms.js';
import { EXIT } from '../errors/exit-codes.js';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { newMultisig } from './plan.js';
import { factsOf, isWhole, type Places, readState, type StateOnChain } from './read-state.js';

/** What was signed last; durable before it is sent. */
export interface SentRegistration {
  read(): Unit | null;
  write(unit: Unit | null): void;
}

/** Everything that landing takes. */
export interface Landing {
  readonly chain: Chain;
  /** Of the same nodes, read as carefully as it has to be. */
  readonly reader: ChainReader;
  readonly places: Places;
  /** What was shown before somebody agreed: who may do what, and what the token allows. */
  readonly agreed: Facts;
  /** Pays for all of it. */
  readonly operator: Signer;
  /** Lends the multisig its address; `null` where it is there already. */
  readonly createKey: Signer | null;
  /** The wallet that Squads takes its fee to. */
  readonly squadsTreasury: Address | null;
  readonly sent: SentRegistration;
  /** Asked before anything is sent. @throws when another has taken its place. */
  readonly check: () => Promise<void>;
}

/** How often to look where the chain does not say. */
const FINAL_POLL_MS = 500;

/**
 * @returns the state that has all of it, and what created it; `null` where all was there.
 * @throws `ERR_INVALID_REQUEST` when the chain refuses; `ERR_NOT_VERIFIED` when what is there is not as it was agreed to;
 *   `ERR_UNAVAILABLE` when the chain does not say: the same call then goes on.
 */
export async function landRegistration(
  landing: Landing,
): Promise<{ readonly state: StateOnChain; readonly txHash: string | null }> {
  const { reader, places, sent } = landing;
  for (;;) {
    const last = sent.read();
    if (last !== null) await settleLast(landing, last);
    const state = await readState(reader, places);
    requireAsAgreed(landing, state);
    const kept = sent.read();
    if (isWhole(state)) return { state, txHash: kept?.transactions[0]?.signature ?? null };
    // Final, and yet not all of it is there: somebody has closed an account meanwhile.
    if (kept !== null) sent.write(null);
    const unit = await signed(landing, state);
    sent.write(unit);
    await settleLast(landing, unit, true);
  }
}

/** An account that the vault had none of before is as the program of the token makes it. */
const VAULT_ACCOUNT = 'vaultAccount.';

/** @throws `ERR_NOT_VERIFIED` naming each fact that has changed, before and after. */
function requireAsAgreed({ agreed, places }: Landing, { multisig, token }: StateOnChain): void {
  const wasOpen = Object.keys(agreed).some((fact) => fact.startsWith(VAULT_ACCOUNT));
  const drift = driftOf(agreed, factsOf(multisig ?? newMultisig(places), token)).filter(
    ({ fact }) => wasOpen || !fact.startsWith(VAULT_ACCOUNT),
  );
  if (drift.length === 0) return;
  const changes = drift.map(({ fact, before, now }) => `${fact} was ${before} and is ${now}`);
  throw new FlywheelError('ERR_NOT_VERIFIED', `It is not as it was shown: ${changes.join('; ')}.`, {
    hint: 'Run the same command again: it shows how it is now.',
  });
}

/** Settles what was sent last, as often as it takes until its end is final. */
async function settleLast(landing: Landing, first: Unit, isNew = false): Promise<void> {
  const { chain, sent, check } = landing;
  // Nobody takes it from a process that stood still but by a word of somebody: it has no end that would have to be put off.
  const lease: Lease = { id: '', check, renew: check, signal: undefined, tell: () => undefined };
  let [unit, areNew] = [first, isNew];
  for (;;) {
    const [settled] = await settle(chain, {
      units: [unit],
      areNew,
      as: 'bundles',
      lease,
      renew: async () => {
        const renewed = await signed(landing, await readState(landing.reader, landing.places));
        sent.write(renewed);
        return [renewed];
      },
    });
    invariant(settled !== undefined, 'A unit that is settled has its end.');
    if (settled.end.kind === 'failed') {
      sent.write(null);
      throw new FlywheelError(
        'ERR_INVALID_REQUEST',
        `The registration was not made on chain: ${settled.end.reason}. Nothing of it was created${settled.end.records.length === 0 ? '' : '; the fee of the transaction is paid'}.`,
        { hint: 'Once the reason is gone, run the same command again.', exit: EXIT.failedOnChain },
      );
    }
    if ((await finalityOf(chain, settled.end.records)) === 'final') return;
    // A fork that was given up has taken it along.
    [unit, areNew] = [settled.unit, false];
  }
}

/** What becomes of what has landed, once that is certain. */
async function finalityOf(chain: Chain, records: readonly TransactionRecord[]): Promise<Finality> {
  for (;;) {
    const found = await chain.finality(records);
    if (found.every((finality) => finality === 'final')) return 'final';
    if (found.includes('undone')) return 'undone';
    await setTimeout(chain.pollMs ?? FINAL_POLL_MS);
  }
}

async function signed(landing: Landing, state: StateOnChain): Promise<Unit> {
  const { chain, operator, createKey } = landing;
  const instructions = missingInstructions(landing, state);
  const payer = operator.address;
  const terms = await signingTerms(chain, { payer, instructions });
  const { blockhash, lastValidBlockHeight } = terms;
  const budgeted = withBudget(instructions, terms, terms.sample?.units);
  const message = compileLegacyMessage({ payer, instructions: budgeted, blockhash });
  const signers = state.multisig === null && createKey !== null ? [operator, createKey] : [operator];
  return { transactions: [await requestSignatures(message, signers)], lastValidBlockHeight };
}

/** All in one transaction: what of it lands, lands whole. */
function missingInstructions(landing: Landing, state: StateOnChain): readonly Instruction[] {
  const { places, operator, createKey, squadsTreasury } = landing;
  const { mint, tokenProgram, vault } = state.token.flywheel;
  const instructions: Instruction[] = [];
  if (state.multisig === null) {
    invariant(createKey !== null && squadsTreasury !== null, 'A multisig is made with a key of its own.');
    const { configAuthority: _none, ...rules } = newMultisig(places);
    const creation = { createKey: createKey.address, creator: operator.address, treasury: squadsTreasury };
    instructions.push(multisigCreateV2({ ...creation, ...rules, configAuthority: null }));
  }
  const open = (owner: Address): void => {
    instructions.push(
      createAssociatedTokenAccountIdempotent({ payer: operator.address, owner, mint, tokenProgram }),
    );
  };
  if (state.token.vaultAccount === null) open(vault);
  // Harmless where somebody has opened it meanwhile.
  if (!state.burnTokenAccount.isThere || instructions.length === 0) open(places.burnWallet);
  return instructions;
}
