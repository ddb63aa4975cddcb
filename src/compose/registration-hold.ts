/** What a registration holds of a database, from before anything is paid for it until it is stored; and who is told what of another's. */
import type { DatabaseAddress } from '../cli/config/database-address.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type {
  BegunRegistration,
  BegunRegistrations,
  Clash,
  ClashingRegistration,
} from '../store/postgres/begun-registrations.js';

/** One registration that nobody else can begin meanwhile. */
export interface RegistrationHold {
  /** Asked before anything is sent. @throws `ERR_STORE_UNAVAILABLE` when it is another's by now, or nobody can say. */
  check(): Promise<void>;
  /** Others may begin: nothing was sent. */
  release(): Promise<void>;
  close(): Promise<void>;
}

/** Where nobody else is. */
export const NOTHING_TO_HOLD: RegistrationHold = {
  check: async () => undefined,
  release: async () => undefined,
  close: async () => undefined,
};

/** What is begun. */
export interface Beginning {
  readonly wanted: BegunRegistration;
  /** One that somebody says is given up. */
  readonly takeOver: string | null;
}

async function openBegun(address: DatabaseAddress): Promise<BegunRegistrations> {
  const url = address.reveal();
  const { openBegunRegistrations } = await import('../store/postgres/begun-registrations.js');
  return openBegunRegistrations(url);
}

const ALIKE: Readonly<Record<Clash, string>> = {
  mint: 'of the same mint',
  name: 'of the same name',
  vault: 'with the same vault',
  cluster: 'on another cluster',
};

function refusal({ id, clash, name, mint, multisig, actor, dateBegun }: ClashingRegistration): FlywheelError {
  const again =
    clash === 'mint' ? `; with --multisig ${multisig} as well it uses what that one has paid for` : '';
  return new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `A registration ${ALIKE[clash]} (project ${name}, mint ${mint}) was begun on ${dateBegun} by ${actor} and is not done; this command has sent nothing.`,
    {
      hint: `Is it at work? Wait until it is done, then run the same command again. Was it cut off? Run its command on that machine: it goes on, and pays nothing twice. Only where that machine is lost: --take-over ${id} begins here in its place${again}.`,
    },
  );
}

/** @throws `ERR_STORE_UNAVAILABLE` where another one has begun that is in its way. */
export async function requireNoneBegun(
  address: DatabaseAddress,
  { wanted, takeOver }: Beginning,
): Promise<void> {
  const registrations = await openBegun(address);
  try {
    const clash = await registrations.findClash(wanted);
    if (clash !== null && clash.id !== takeOver) throw refusal(clash);
  } finally {
    await registrations.close();
  }
}

const lost = ({ mint }: BegunRegistration): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `Another registration has taken the place of this one, or the mint ${mint} is registered by now; nothing more is sent, and what was sent before may have landed.`,
    { hint: 'Run the same command again: it says what there is.' },
  );

async function failureOf(work: () => Promise<void>): Promise<FlywheelError | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (isFlywheelError(error)) return error;
    throw error;
  }
}

/**
 * Holds it until it is stored, or released; closing ends no hold.
 * @param look - throws where it has become impossible before it was held.
 * @returns why it is refused, where nothing of it is left in the database. @throws where that is not known.
 */
export async function holdRegistration(
  address: DatabaseAddress,
  { wanted, takeOver }: Beginning,
  look: () => Promise<void>,
): Promise<RegistrationHold | { readonly refusal: FlywheelError }> {
  const registrations = await openBegun(address);
  const hold: RegistrationHold = {
    check: async () => {
      if (!(await registrations.isBegun(wanted.id))) throw lost(wanted);
    },
    release: () => registrations.forget(wanted.id),
    close: () => registrations.close(),
  };
  try {
    const clash = await registrations.begin(wanted, takeOver);
    const refused = clash === null ? await failureOf(look) : refusal(clash);
    if (refused === null) return hold;
    if (clash === null) await hold.release();
    await hold.close();
    return { refusal: refused };
  } catch (error) {
    await hold.close();
    throw error;
  }
}
