/** What a registration is written into: a data directory, which it makes the project's own, or a database beside others. */
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import type { ApiKeyCreated, Registration } from '../contract/admin.js';
import type { RegistrationPlan } from '../contract/registration.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { Places } from '../registration/read-state.js';
import type { StoredProject, ToStore } from '../registration/records.js';
import type { Store } from '../store/store.js';
import { randomIds } from '../values/ids.js';
import { processActor } from './actor.js';
import type { RegistrationHold } from './registration-hold.js';

/** What is registered, without what only a database needs. */
export type Landed = Omit<ToStore, 'project' | 'plan'> & {
  readonly plan: RegistrationPlan;
  readonly facts: Readonly<Record<string, string>>;
};

/** What is to be begun. */
export interface ToBegin {
  readonly id: string;
  /** The id of another that is given up, or `null`. */
  readonly takeOver: string | null;
  readonly plan: Pick<RegistrationPlan, 'symbol' | 'cluster'>;
  readonly places: Places;
}

/** What came of it. */
export interface Kept {
  readonly registration: Registration;
  readonly apiKey: ApiKeyCreated | null;
  readonly project?: string;
}

export interface RegistrationTarget {
  /** File of a registration of this mint that has begun. */
  unfinishedFile(mint: string): string;
  /** The project that is registered here, or `null`. @throws where another one stands in its way. */
  finished(mint: string, genesisHash: string): Promise<StoredProject | null>;
  /**
   * Its name, where it has one. @throws `ERR_INPUT_INVALID` where nobody says one, `ERR_LOCAL_ALREADY_EXISTS` where another has
   * it, or has what the project would have; `ERR_STORE_UNAVAILABLE` where one that would is begun.
   */
  named(planned: ToBegin): Promise<{ readonly project?: string }>;
  /** Has it to itself from here on. @returns why it is refused, where nothing of it is left here. */
  hold(planned: ToBegin): Promise<RegistrationHold | { readonly refusal: FlywheelError }>;
  /** Stores it, and its first key for this user; what is stored stays. @param isBegun - was it carried on, so that the key of a crash may be lost? */
  keep(landed: Landed, isBegun: boolean): Promise<Kept>;
}

/** What a target works on. */
export interface TargetPlace {
  readonly ambient: Ambient;
  readonly settings: Settings;
  /** As it was typed. */
  readonly cluster: string;
  readonly dataDir: string;
}

/** What storing takes. */
export const depsOf = (store: Store) => ({ store, ids: randomIds, actor: processActor() });

/** Works on a store, and closes it. */
export async function withStore<Result>(
  opening: Promise<Store>,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await opening;
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
