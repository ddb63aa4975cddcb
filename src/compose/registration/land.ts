/**
 * Creates on chain, exactly once, what a registration lacks: resolves the last sent transaction, reads the state, and ends when
 * the finalized state is complete.
 */
import { driftOf, type Facts } from '../../approval/pins.js';
import type { Chain, ChainReader } from '../../chain/chain.js';
import { multisigCreateV2 } from '../../chain/squads/builders.js';
import { createAssociatedTokenAccountIdempotent } from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { Signer } from '../../chain/transaction/sign.js';
import { sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import { registeredMultisig } from '../../engine/admin/project.js';
import { type Failed, findFates, refused } from '../../engine/settle.js';
import { signingTerms, withBudget } from '../../engine/signing-terms.js';
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { factsOf, isWhole, type Places, readState, type StateOnChain } from './state.js';
import type { Unfinished } from './target.js';

type Sent = NonNullable<Unfinished['sent']>;

interface Landing {
  readonly chain: Chain;
  /** Reads the same nodes with additional checks. */
  readonly reader: ChainReader;
  readonly places: Places;
  readonly agreed: Facts;
  readonly operator: Signer;
  /** Its address determines the multisig's; `null` if the multisig exists. */
  readonly createKey: Signer | null;
  readonly squadsTreasury: Address | null;
  readonly sent: Sent | null;
  /** Stores a signed transaction before it is sent; `null` clears it. */
  keep(sent: Sent | null): void;
  sleep(ms: number): Promise<void>;
}

const POLL_MS = 500;

/**
 * @returns the complete state, and the transaction that created it; `null` if everything existed
 * @throws `ERR_INVALID_REQUEST` if the chain refuses; `ERR_NOT_VERIFIED` if the state differs from the agreed plan;
 *  `ERR_UNAVAILABLE` if the outcome is unknown: the same call resumes
 */
export async function landRegistration(
  landing: Landing,
): Promise<{ readonly state: StateOnChain; readonly txHash: string | null }> {
  let { sent } = landing;
  let isNew = false;
  for (;;) {
    if (sent !== null && !(await isFinal(landing, sent, isNew))) sent = null;
    const state = await readState(landing.reader, landing.places);
    requireAsAgreed(landing, state);
    if (isWhole(state)) return { state, txHash: sent?.signature ?? null };
    sent = await signed(landing, state);
    isNew = true;
    landing.keep(sent);
  }
}

/** Prefix of the facts of the vault's token account, which the plan lacks if the account did not exist. */
const VAULT_ACCOUNT = 'vaultAccount.';

/** @throws `ERR_NOT_VERIFIED`, naming each changed fact */
function requireAsAgreed({ agreed, places }: Landing, state: StateOnChain): void {
  const wasOpen = Object.keys(agreed).some((fact) => fact.startsWith(VAULT_ACCOUNT));
  const drift = driftOf(agreed, factsOf(places, state)).filter(
    ({ fact }) => wasOpen || !fact.startsWith(VAULT_ACCOUNT),
  );
  if (drift.length === 0) return;
  const changes = drift.map(({ fact, before, now }) => `${fact} was ${before} and is ${now}`);
  throw new FlywheelError(
    'ERR_NOT_VERIFIED',
    `The plan has changed since it was shown: ${changes.join('; ')}.`,
    { hint: 'Run the same command again and check the new plan.' },
  );
}

/**
 * Resends the same bytes until they are finalized or proven expired.
 * @param isNew - the bytes were certainly never sent before; only then does a refusal prove that they did not land
 * @returns `false` if they are proven never to land
 */
async function isFinal(landing: Landing, sent: Sent, isNew: boolean): Promise<boolean> {
  const { chain, sleep } = landing;
  const bytes = Buffer.from(sent.wire, 'base64');
  const units = [
    {
      transactions: [{ signature: sent.signature, bytes }],
      lastValidBlockHeight: BigInt(sent.lastValidBlockHeight),
    },
  ];
  if (isNew) {
    const [rejection] = await chain.submit([bytes], [true]);
    if (rejection != null) throw refusal(landing, refused(rejection));
  }
  for (;;) {
    const [fate] = await findFates(chain, units);
    invariant(fate !== undefined, 'What is asked for is answered.');
    if (fate.kind === 'expired') return false;
    if (fate.kind === 'failed') throw refusal(landing, fate);
    if (fate.kind === 'landed' && fate.isFinal) return true;
    if (fate.kind === 'open') await chain.submit([bytes]);
    await sleep(chain.pollMs ?? POLL_MS);
  }
}

/** Clears the stored transaction: the chain refused it, so a new one may be signed. */
function refusal({ keep }: Landing, { reason, records }: Failed): FlywheelError {
  keep(null);
  const paid = records.length === 0 ? '' : '; the transaction fee was paid';
  return new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The registration failed on chain: ${reason}. Nothing was created${paid}.`,
    { hint: 'Fix the cause, then run the same command again.', exit: EXIT.failedOnChain },
  );
}

async function signed(landing: Landing, state: StateOnChain): Promise<Sent> {
  const { chain, operator, createKey } = landing;
  const instructions = missingInstructions(landing, state);
  const payer = operator.address;
  const terms = await signingTerms(chain, { payer, instructions });
  const { blockhash, lastValidBlockHeight } = terms;
  const budgeted = withBudget(instructions, terms, terms.sample?.units);
  const message = compileLegacyMessage({ payer, instructions: budgeted, blockhash });
  const signers = state.multisig === null && createKey !== null ? [operator, createKey] : [operator];
  const [{ signature, bytes }] = await sign([message], signers);
  return {
    signature,
    wire: Buffer.from(bytes).toString('base64'),
    lastValidBlockHeight: lastValidBlockHeight.toString(),
  };
}

/** One transaction, so that everything lands or nothing does. */
function missingInstructions(landing: Landing, state: StateOnChain): readonly Instruction[] {
  const { places, operator, createKey, squadsTreasury } = landing;
  const { mint, tokenProgram, vault } = state.token.flywheel;
  const instructions: Instruction[] = [];
  if (state.multisig === null) {
    invariant(createKey !== null && squadsTreasury !== null, 'A multisig is made with a key of its own.');
    const { configAuthority: _none, ...rules } = registeredMultisig(places);
    const creation = { createKey: createKey.address, creator: operator.address, treasury: squadsTreasury };
    instructions.push(multisigCreateV2({ ...creation, ...rules, configAuthority: null }));
  }
  const open = (owner: Address): void => {
    instructions.push(
      createAssociatedTokenAccountIdempotent({ payer: operator.address, owner, mint, tokenProgram }),
    );
  };
  if (state.token.vaultAccount === null) open(vault);
  // Idempotent: harmless if another transaction creates the account first.
  if (state.burnTokenAccount.account === null || instructions.length === 0) open(places.burnWallet);
  return instructions;
}
