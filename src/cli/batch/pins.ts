/** Reads, checks and stores the pins of the project, with which every vote is compared. */
import { flywheelOf, multisigFacts, readTokenOnChain } from '../../approval/flywheel-facts.js';
import { type Facts, type Pins, requireUnchanged } from '../../approval/pins.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { ChainReader, Flywheel } from '../../chain/chain.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { type Address, address } from '../../values/address.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { viewPins } from '../views/project.js';

export const refuse = (message: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_APPROVAL_REFUSED', message, hint === undefined ? {} : { hint });

const HOW_TO_PIN =
  'Pin the project: `flywheel profile add NAME --multisig … --owner … --operator … --mint …` (with --update for a profile that exists), then `flywheel profile pin`.';

/** @throws `ERR_APPROVAL_REFUSED` when not even the addresses are pinned. */
export function requirePins(pins: Pins | null): Pins {
  if (pins !== null) return pins;
  throw unpinned(pins);
}

export function unpinned(pins: Pins | null): FlywheelError {
  const what = pins === null ? 'No project is pinned' : 'Only the addresses of the project are pinned';
  return refuse(
    `${what}, so a change of its members, rules or token would go unnoticed.`,
    pins === null ? HOW_TO_PIN : 'Run `flywheel profile pin`, or add --pins FILE.',
  );
}

const HOW_TO_PIN_AGAIN =
  'If you made this change, pin the project again: `flywheel profile pin --out pins.json`, then add --pins pins.json (with a profile, `flywheel profile pin`). On a cluster, run the same `flywheel register` again.';

/** @throws `ERR_APPROVAL_REFUSED` with each changed fact, and how to pin what the owner changed. */
export function requireAsPinned(pinned: Facts, actual: Facts): void {
  try {
    requireUnchanged(pinned, actual);
  } catch (error) {
    throw isFlywheelError(error) ? error.with({ hint: HOW_TO_PIN_AGAIN }) : error;
  }
}

const HOW_TO_READ = 'Set FLYWHEEL_RPC_URL to your own RPC node.';

/** Nothing is signed that was not read from chain. @throws `ERR_APPROVAL_REFUSED` with everything that is missing. */
export function requireChain({ chain, pins }: Pick<OpenedService, 'chain' | 'pins'>): ChainReader {
  if (chain !== null) return chain;
  const [also, how] =
    pins === null ? [' and no project is pinned', `${HOW_TO_READ} ${HOW_TO_PIN}`] : ['', HOW_TO_READ];
  throw refuse(`No RPC node is set${also}, so the batch cannot be checked.`, how);
}

/** For commands that sign nothing. @param what - completes "so …". @throws `ERR_CONFIG_INVALID` */
export function requireReadable({ chain }: Pick<OpenedService, 'chain'>, what: string): ChainReader {
  if (chain !== null) return chain;
  throw new FlywheelError('ERR_CONFIG_INVALID', `No RPC node is set, so ${what}.`, {
    hint: HOW_TO_READ,
  });
}

/** @throws `ERR_APPROVAL_REFUSED` for a keypair of somebody else. */
export function requireOwner(pins: Pins, signer: Address): void {
  if (signer === pins.owner) return;
  throw refuse(`The keypair belongs to ${signer}, but the owner of the project is ${pins.owner}.`);
}

/** The project from its pins, without the chain: decimals and token program of a mint never change. */
export function pinnedFlywheel(pins: Pins | null): Flywheel | null {
  if (pins?.facts === undefined) return null;
  const { 'mint.decimals': decimals, 'mint.tokenProgram': tokenProgram } = pins.facts;
  if (decimals === undefined || tokenProgram === undefined) return null;
  return flywheelOf(pins, { decimals: Number(decimals), tokenProgram: address(tokenProgram) });
}

export async function readPins(chain: ChainReader, addresses: Omit<Pins, 'facts'>): Promise<Pins> {
  const multisig = await readMultisigAccount(chain, addresses.multisig);
  const token = await readTokenOnChain(chain, addresses);
  return { ...addresses, facts: { ...multisigFacts(multisig), ...token.facts } };
}

/**
 * The pins with their facts. On a terminal, missing facts are read from chain, shown, and pinned with consent.
 * @throws `ERR_APPROVAL_REFUSED` when addresses are missing, or facts and the user cannot be asked.
 */
export async function pinsForApproval(
  session: Session,
  opened: Pick<OpenedService, 'pins' | 'chain' | 'confirm'>,
): Promise<Pins> {
  const pins = requirePins(opened.pins);
  if (pins.facts !== undefined) return pins;
  if (session.settings.yes || !canAsk(session)) throw unpinned(pins);
  const found = await readPins(requireChain(opened), pins);
  await confirmPins(session, found);
  opened.confirm(found);
  return found;
}

export async function confirmPins(session: Session, pins: Pins): Promise<void> {
  const { output, settings } = session;
  output.show(viewPins(pins, output.noticeStyle).join('\n'));
  await requireConsent(session, 'Is this your project, and are all values correct?');
  const name = settings.profile.value;
  if (name === null) {
    output.tell('No profile is in use, so the pins apply to this command only.');
    return;
  }
  await keepPins(session, name, pins);
}

export async function keepPins({ settings }: Session, profile: string, pins: Pins): Promise<void> {
  const { saveProfile } = await import('../config/profile-store.js');
  const changes = () => ({ pinned: pins });
  await saveProfile(settings.configDir.value, profile, { changes, key: null, isNew: false });
}
